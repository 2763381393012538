"""Credentials of clouds that are computed for each request or exchanged for a token: SigV4, OAuth service accounts."""

from .authorization import Authorization, authorization_of

__all__ = ["Authorization", "authorization_of"]
