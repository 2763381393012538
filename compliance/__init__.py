"""Evidence records, the ledger that protects them, and reports that an auditor can verify offline."""
