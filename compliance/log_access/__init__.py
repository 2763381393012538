"""Access of operators to a ledger: search, follow and prove entries. Each access is itself an entry."""
