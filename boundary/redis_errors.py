"""What a failing store says, told so that a person knows what to do. Imports no client.

Above: `redis_backend`, which raises each text as `StoreUnavailable`. Texts are ours alone: a
server's or client's own may repeat a part of the URL, and the URL holds a password.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator

ALLOW = (
    "allow `+eval +evalsha +get +set +exists +hmget +hgetall +hset +pexpire +del +time` "
    "on the keys of its prefix, and `+scan` to sweep"
)
"""What a user of the store needs; `+info` lets casebound warn of eviction, too."""

REFUSALS = {
    "AUTH": "the store refused the user name or password; check REDIS_URL, special characters percent-encoded",
    "NOPERM": f"the store's user lacks a command or key pattern casebound needs; {ALLOW}",
    "OOM": "the store reached maxmemory and refuses writes; give it more memory or a shorter record_ttl",
    "READONLY": "the store is a read-only replica; point REDIS_URL at the primary",
    "MASTERDOWN": "the store is a replica that lost its primary; point REDIS_URL at the primary",
    "LOADING": "the store is still loading its data; it answers once that is done",
    "BUSY": "the store is busy with somebody's script; wait for its end, or end it with SCRIPT KILL",
    "MISCONF": "the store cannot save to its disk and refuses writes; give it the space or rights it needs",
    "NOREPLICAS": "the store misses replicas and refuses writes (min-replicas-to-write); bring them back",
    "WRONGTYPE": "a key casebound needs holds something else; delete it, or choose another [store] prefix",
    "MOVED": "the store is one node of a cluster and lacks this key; use a server that holds all keys",
    "CLUSTERDOWN": "the store is a node of a cluster that is down; bring the cluster back",
    "max number of clients": "the store takes no more connections; raise its maxclients, or run fewer workers",
    "invalid bulk length": "the record is larger than the store takes; raise its proto-max-bulk-len",
}
"""By the code in a server's answer."""

UNKNOWN = "the store refused a command; see its log"
NO_CONNECTION = (
    "all connections to the store stayed busy; lower [worker] concurrent_calls, or give the store more power"
)
NOT_REACHED = "no connection to the store in time; is its host reachable, and is rediss:// used for a TLS port only?"
NO_REPLY = "the store took the command but did not reply in time; is it overloaded or frozen?"
BROKEN = (
    "the store closed the connection; is it running, below its maxclients, "
    "and is this its port (rediss:// if that speaks TLS)?"
)

_CODE = re.compile("|".join(rf"\b{code}\b" for code in REFUSALS))

_NO_RIGHT = re.compile(r"can't run this command|ACL failure|no permissions to")
"""How servers word NOPERM for a command in a script."""

_CLASSES = {
    "AuthenticationError": "AUTH",
    "NoPermissionError": "NOPERM",
    "OutOfMemoryError": "OOM",
    "ReadOnlyError": "READONLY",
    "MasterDownError": "MASTERDOWN",
    "BusyLoadingError": "LOADING",
    "MovedError": "MOVED",
    "ClusterDownError": "CLUSTERDOWN",
}
"""Classes of the client's whose text has lost the server's code."""


def code_of(error: BaseException) -> str | None:
    """Name the key in `REFUSALS` of what a server answered; None: it has none, or no server answered."""
    for kind in type(error).__mro__:
        if kind.__name__ in _CLASSES:
            return _CLASSES[kind.__name__]
    found = _CODE.search(str(error))  # an error inside a script has its code anywhere in the text
    if found is not None:
        return found.group()
    return "NOPERM" if _NO_RIGHT.search(str(error)) else None


def explain(error: BaseException) -> str:
    """Say what happened and what to do, in words of ours."""
    code = code_of(error)
    if code is not None:
        return REFUSALS[code]
    return next(filter(None, map(_of_the_network, _chain(error))), None) or _of_the_client(error)


def _of_the_network(error: BaseException) -> str | None:
    match error:
        case socket.gaierror():
            return "the store's host name is not known; check REDIS_URL, special characters percent-encoded"
        case ConnectionRefusedError() | FileNotFoundError():
            return "nothing listens where REDIS_URL points; is the store running?"
        case ssl.SSLCertVerificationError():
            return "the store's certificate is not trusted; name its authority: rediss://...?ssl_ca_certs=FILE"
        case ssl.SSLError():
            return "the store does not speak TLS on this port; use redis://, or the port that does"
        case _:
            return None


def _of_the_client(error: BaseException) -> str:
    kinds, text = {kind.__name__ for kind in type(error).__mro__}, str(error)
    if "InvalidResponse" in kinds:
        return "what answers where REDIS_URL points is no Redis or Valkey server; check host and port"
    if "TimeoutError" in kinds:
        return NOT_REACHED if "connecting" in text else NO_REPLY
    if "ConnectionError" in kinds or isinstance(error, OSError):
        return NO_CONNECTION if "No connection available" in text else BROKEN
    return UNKNOWN


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
