"""Formats of HTTP bodies: JSON strings with their locations, multipart, server-sent events, embedded files."""
