"""Sections of `gateway.yaml` about traffic: upstreams, routing, limits of size and time, quotas."""
