"""Adapters: translate requests and answers between the API of a client and the API of an upstream."""

from .adapter import Adapter, Adapters, AnswerOptions, Inexpressible, adapters_of, unserved_surfaces

__all__ = ["Adapter", "Adapters", "AnswerOptions", "Inexpressible", "adapters_of", "unserved_surfaces"]
