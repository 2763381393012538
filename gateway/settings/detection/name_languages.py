"""Languages in which the gateway detects names. `policy.name_languages` may contain only these."""

from __future__ import annotations

CONTEXT_LANGUAGES: frozenset[str] = frozenset(("ar", "de", "en", "es", "fr", "id", "pl", "ru"))
"""Languages whose titles, greetings, fields, roles and endings are in the tables of `gateway/detect/names`."""

LISTED_LANGUAGES: frozenset[str] = frozenset(
    ("ar", "de", "en", "es", "fr", "id", "it", "kk", "nl", "pl", "pt", "ru", "tr")
)
"""Languages in which inflected names of the index are found (gateway/detect/edm); measured by `python -m bench.pii`."""
