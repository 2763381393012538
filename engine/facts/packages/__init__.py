"""Parsers of package managers: apt, dpkg and rpm."""
