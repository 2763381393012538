"""Candidates, demand, cost, shadow choice and order of upstreams."""
