"""Recognizes and classifies runs of digits."""
