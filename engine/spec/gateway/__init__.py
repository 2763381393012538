"""Section `gateway` of site.yaml, one module for each part."""
