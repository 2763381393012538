"""Packages, images and models that a lab is built from."""
