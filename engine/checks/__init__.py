"""Checks of a site: model, definitions and the runner of `sovctl verify`."""
