"""Network configuration of nodes: addresses and name servers."""
