"""The pure heart of casebound: what a tool call is, how it is gated, recorded and cited.

Above it: `activities` adapts it to Temporal. Below it: the standard library, pydantic,
jsonschema and, in `redis_backend` alone, redis. It is not a Temporal library: nothing here
imports temporalio. Import from the submodules; `contracts`, `errors`, `ids`, `limits` and
`report` are light and safe inside a workflow.
"""
