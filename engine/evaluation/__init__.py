"""Evaluation of a pool by the site's own questions: reads and asks them, judges answers, and records marks."""
