"""Audit records of requests and erasures."""
