"""Finds special categories of personal data (GDPR Art. 9 and 10) in a text, by words of its language."""
