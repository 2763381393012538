"""Audit records of requests, answers, hand-offs, settings, operators' actions and erasures."""
