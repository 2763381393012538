"""Typed values of catalogue figures; None for a figure that is unknown or of another type."""

from __future__ import annotations

from ...catalog.figure import Figure


def integer_of(figure: Figure | None) -> int | None:
    """Return a figure's value if it is an integer."""
    return figure.value if figure and isinstance(figure.value, int) else None


def number_of(figure: Figure | None) -> float | None:
    """Return a figure's value if it is a number."""
    return float(figure.value) if figure and isinstance(figure.value, int | float) else None


def text_of(figure: Figure | None) -> str | None:
    """Return a figure's value if it is text."""
    return figure.value if figure and isinstance(figure.value, str) else None
