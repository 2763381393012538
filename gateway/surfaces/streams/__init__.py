"""Streamed answers: restores tokens in the events of each API."""
