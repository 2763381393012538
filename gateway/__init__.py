"""HTTP gateway that replaces identifiers in requests with tokens, and restores them in answers.

One request, by folder: `api` -> `access` (credential) -> `inspection`, `detect` (identifiers) -> `policy` (permitted
upstreams) -> `routing` (order of upstreams) -> `tokenization`, `vault` -> `upstream` -> `tokens.restore` -> `release`
(checks on the answer) -> `audit` -> client. `pipeline` runs these stages, `runtime` the process; see docs/gateway.md.

`settings` and `domain` import none of the packages of the extra `gateway`, so that `sovctl` can read `gateway.yaml`
without them.
"""
