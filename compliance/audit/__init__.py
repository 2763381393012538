"""Verifies a site's ledger, evidence and reports together: `sovctl audit verify`."""
