"""Parsers of operating system settings: accounts, kernel, storage, audit rules."""
