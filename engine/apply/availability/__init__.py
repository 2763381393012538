"""Availability during an apply: floors and failure budget, consent to downtime, drain, health gate."""
