"""Finds listed people, companies and numbers in a text."""
