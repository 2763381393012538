"""The audit log: an RFC 6962 Merkle tree with signed checkpoints (C2SP tlog-checkpoint).

`store` appends and recovers, `group` shares one fsync among requests, `verify` detects changed, missing and truncated
entries, `witness` adds cosignatures outside the site. `merkle`, `proof`, `note` and `checkpoint` are pure.
"""
