"""Classifies the words around a match."""
