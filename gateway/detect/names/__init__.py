"""Names of people: by what stands around them (`context`), and what a name looks like (`shape`)."""

from ..name_finder import NameFinder

__all__ = ["NameFinder"]
