"""The tokenizing gateway: nothing personal leaves, and the client does not notice.

How a request travels, one module each: `auth` (who) -> `body` + `detect` (what is in it) -> `policy` (where may it go)
-> `route` (where does it go) -> `tokens` + `vault` (what leaves instead) -> `audit` (durable, or no answer) ->
`upstream` -> `stream` + `restore` -> client. `app` joins them; `server` runs it; docs/gateway.md explains it.

`settings` and `kinds` need neither the gateway's extra nor each other's neighbours, so that `sovctl` can read them.
"""
