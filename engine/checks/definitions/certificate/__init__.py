"""Certificates of nodes, gateways and pools: issuer, remaining time and key."""
