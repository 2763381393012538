"""Removal of sovctl from a node that site.yaml no longer contains."""
