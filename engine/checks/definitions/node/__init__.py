"""Parts of nodes: models, serial numbers and firmware."""
