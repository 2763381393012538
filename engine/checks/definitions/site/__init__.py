"""Files of the site: its ledger, private keys and root certificate."""
