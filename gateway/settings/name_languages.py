"""In which languages can names be found? One table; policy may only name what it covers.

CONTEXT_LANGUAGES        # by what stands around them: gateway/detect/names
LISTED_LANGUAGES         # those of the site's own list, and of nobody else: gateway/detect/edm
"""

from __future__ import annotations

CONTEXT_LANGUAGES: frozenset[str] = frozenset(("ar", "de", "en", "es", "fr", "id", "pl", "ru"))
"""Languages whose titles, greetings, fields, roles and endings are in the tables of `gateway/detect/names`."""

LISTED_LANGUAGES: frozenset[str] = frozenset(
    ("ar", "de", "en", "es", "fr", "id", "it", "kk", "nl", "pl", "pt", "ru", "tr")
)
"""Languages in which listed names are found inflected as well; each is measured by `python -m bench.pii`."""
