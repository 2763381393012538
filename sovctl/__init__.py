"""Sovereign on-prem LLM deployment toolkit."""

__version__ = "0.2.0"
__released__ = "2026-11-28"
"""Day of the release. A clock before it is wrong."""
