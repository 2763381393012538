"""Inputs of a lab: images, packages, wheels and models."""
