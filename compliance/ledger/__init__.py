"""The audit log: RFC 6962 Merkle tree, C2SP checkpoints. A lost tail is found as surely as a flipped byte.

`store` appends and recovers, `group` lets many requests share one fsync, `verify` finds damage, `witness` lets
somebody outside remember how long the log was. `merkle`, `proof`, `note` and `checkpoint` are pure.
"""
