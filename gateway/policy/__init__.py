"""Decides whether a request may leave the site."""
