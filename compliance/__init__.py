"""Evidence, the ledger that keeps it, and the reports an auditor can verify offline."""
