"""Locks of a site: inventory of closed nodes, exact files of packages, wheels and models, and their closure."""
