"""In which languages can names be found? One table; policy may only name what it covers.

CONTEXT_LANGUAGES        # by what stands around them: gateway/detect/names
"""

from __future__ import annotations

CONTEXT_LANGUAGES: frozenset[str] = frozenset(("ar", "de", "en", "es", "fr", "id", "pl", "ru"))
"""Languages whose titles, greetings, fields, roles and endings are in the tables of `gateway/detect/names`."""
