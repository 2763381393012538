"""Verifies a site's ledger, evidence, reports and journals together, with the standard library only."""
