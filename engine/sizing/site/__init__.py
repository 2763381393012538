"""Sizes a site: nodes, racks, costs."""
