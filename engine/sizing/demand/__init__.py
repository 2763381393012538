"""Requests in flight, computed from users."""
