"""Sections of `gateway.yaml` about the detection of personal data."""
