"""C2SP files of a ledger for other programs: proofs of single entries, tiles, and witness policies."""
