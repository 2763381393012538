"""Runs active tests: at most one on a node, on nodes that serve nothing, within the power cap of site.yaml."""
