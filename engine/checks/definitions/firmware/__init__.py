"""Firmware of the parts of a node, compared with `node_groups[].firmware` of site.yaml."""
