"""Sizing results as HTML, JSON and plots, and the published claims."""
