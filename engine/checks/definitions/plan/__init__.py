"""The plan of the site."""
