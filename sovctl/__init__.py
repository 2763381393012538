"""Sovereign on-prem LLM deployment toolkit."""

__version__ = "0.2.0"
