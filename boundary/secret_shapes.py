"""Secrets told by their own form, wherever they stand: tokens of providers, private keys, password hashes. Data.

Above: `redaction`. Below: nothing. Each shape begins with characters that few ordinary words have, and is
bounded or possessive over one character class; the only capturing groups are the secrets themselves.
"""

from __future__ import annotations

import re

_TOKENS = (
    r"(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ANVA)[0-9A-Z]{16}(?![0-9A-Za-z])",  # AWS
    r"gh[pousr]_[A-Za-z0-9]{20,}+",  # GitHub
    r"github_pat_\w{20,}+",
    r"gl(?:pat|rt|dt|cbt|ptt|ft|soat|imt|agent|ffct|oas)-[\w-]{20,}+",  # GitLab
    r"gls?[ac]_[A-Za-z0-9+/=_]{32,}+",  # Grafana
    r"xox[a-z]-[A-Za-z0-9-]{10,}+",  # Slack
    r"xapp-[A-Za-z0-9-]{10,}+",
    r"xai-[A-Za-z0-9]{32,}+",
    r"xkeysib-[0-9a-f]{32,}+[\w-]*+",  # Brevo
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}+",  # Stripe
    r"sk-(?=[A-Za-z_-]{0,60}+[0-9])[\w-]{20,}+",  # OpenAI, Anthropic and their like
    r"sq0(?:atp|csp)-[\w-]{22,}+",  # Square
    r"sh(?:pat|pca|ppa|pss)_[0-9a-fA-F]{32}",  # Shopify
    r"sbp_[0-9a-f]{40}",  # Supabase
    r"sntry[su]_[\w+/=-]{20,}+",  # Sentry
    r"secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])",  # Notion
    r"ntn_[A-Za-z0-9]{40,}+",
    r"whsec_[A-Za-z0-9+/=]{16,}+",
    r"AIza[\w-]{30,}+",  # Google
    r"ya29\.[\w-]{20,}+",
    r"GOCSPX-[\w-]{20,}+",
    r"npm_[A-Za-z0-9]{30,}+",
    r"nvapi-[\w-]{40,}+",  # NVIDIA
    r"pypi-[\w-]{20,}+",
    r"pplx-[A-Za-z0-9]{32,}+",  # Perplexity
    r"pscale_(?:tkn|pw|oauth)_[\w.-]{20,}+",  # PlanetScale
    r"ph[cx]_[A-Za-z0-9]{40,}+",  # PostHog
    r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}",  # Postman
    r"SK[0-9a-f]{32}(?![0-9A-Za-z])",  # Twilio
    r"SG\.[\w-]{16,}+\.[\w-]{16,}+",  # SendGrid
    r"key-[0-9a-f]{32}(?![0-9A-Za-z])",  # Mailgun
    r"hf_[A-Za-z0-9]{30,}+",  # Hugging Face
    r"hv[bsr]\.[\w-]{20,}+",  # Vault
    r"atlasv1\.[\w=-]{60,}+",  # HCP Terraform, after the token's id
    r"ATATT3[\w=-]{60,}+",  # Atlassian
    r"AKCp[A-Za-z0-9]{60,}+",  # Artifactory
    r"AGE-SECRET-KEY-1[0-9A-Z]{40,}+",
    r"do[opr]_v1_[0-9a-f]{64}",  # DigitalOcean
    r"dapi[0-9a-f]{32}(?:-\d)?",  # Databricks
    r"dckr_[op]at_[\w-]{20,}+",  # Docker
    r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.]{30,}+",  # Doppler
    r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}",  # Dynatrace
    r"figd_[\w-]{30,}+",  # Figma
    r"gsk_[A-Za-z0-9]{40,}+",  # Groq
    r"r8_[A-Za-z0-9]{32,}+",  # Replicate
    r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}+",  # Linear
    r"lsv2_[ps][tk]_[0-9a-f]{32}_[0-9a-f]{10}",  # LangSmith
    r"NR(?:AK|II|JS|RA)-[\w-]{20,}+",  # New Relic
    r"rubygems_[0-9a-f]{48}",
    r"tskey-[a-z]{2,12}-[\w-]{16,}+",  # Tailscale
    r"eyJ[\w-]{5,}+\.[\w-]{5,}+\.[\w-]*+",  # JSON Web Token
    r"\$(?:1|2[abxy]|5|6|y|apr1|argon2id?)\$[\w./$=,+-]{20,}+",  # password hashes of crypt(3)
    r"pbkdf2_sha[0-9]{1,3}\$[0-9]{1,9}\$[\w+/.=-]{1,60}+\$[\w+/.=-]{20,}+",  # Django
    r"SCRAM-SHA-[0-9]{1,3}\$[0-9]{1,9}:[\w+/=]{4,}+\$[\w+/=:]{16,}+",  # PostgreSQL
    r"\{(?:S?SHA[0-9]{0,3}|S?MD5|CRYPT|PBKDF2)\}[\w+/=$.]{16,}+",  # LDAP
    r"\*[0-9A-F]{40}(?![0-9A-Za-z])",  # MySQL
)


def _by_first_character(shapes: tuple[str, ...]) -> str:
    """Join the shapes so that one that begins otherwise is not even tried: a third of the time."""
    grouped: dict[str, list[str]] = {}
    for shape in shapes:
        head = shape[:2] if shape[0] == "\\" else shape[0] if shape[0].isalnum() else ""
        grouped.setdefault(head, []).append(shape[len(head) :])
    return "|".join(f"{head}(?:{'|'.join(rest)})" for head, rest in grouped.items())


# Nothing shorter than the lookahead is a token, and most words are.
SHAPES = re.compile(rf"(?<![\w-])(?=[\w.~+/=:$*{{}}-]{{16}})({_by_first_character(_TOKENS)})", re.ASCII)
"""None begins inside a word."""

PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----((?:[^-]++|-(?!----))++)")
"""The body of a private key, up to the next five dashes or the end of what there is."""
