"""Checks on an answer before it is released to the client."""
