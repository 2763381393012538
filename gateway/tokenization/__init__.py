"""Builds the request body that leaves the site."""
