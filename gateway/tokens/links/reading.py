"""One reading of the text so far, as written or with its escapes undone: is its end in a URL?"""

from __future__ import annotations

import re
from collections.abc import Collection

from ...domain.entities import EntityType, Mark
from .bare_links import BareLinks
from .definitions import Definition
from .html_tags import HtmlTags

_HTTPS = "https://"
_SCHEME_BEGUN = re.compile(r"<[A-Za-z0-9+.-]{0,31}\Z")
_ADDRESS_BEGUN = re.compile(r"<[^\s<>@]*@[^\s<>]*\Z")


class Reading:
    """One reading of the text so far.

    Args:
        hosts: hosts whose links may contain values.
    """

    def __init__(self, hosts: Collection[str] = ()) -> None:
        self.links = BareLinks(hosts)
        self.tags = HtmlTags()
        self.definition = Definition()

    def copy(self) -> Reading:
        """Return a copy without regions."""
        other = Reading()
        other.links, other.tags, other.definition = self.links.copy(), self.tags.copy(), self.definition.copy()
        return other

    def feed(self, text: str) -> None:
        """Add text."""
        self.links.feed(text)
        self.tags.feed(text)
        self.definition.feed(text)

    def is_in_url(self, label: EntityType | Mark) -> bool:
        """Return whether no following text can permit a token of `label` here."""
        is_url = label is Mark.URL
        return (self.links.is_in_link and not (is_url and self.links.is_bare_target)) or (
            self.tags.is_in_url and not (is_url and self.tags.is_at_start)
        )

    def may_restore(self, label: EntityType | Mark, value: str, following: str) -> bool:
        """Return whether a token may be restored here.

        Args:
            following: the text after it.
        """
        is_url = label is Mark.URL
        if self.is_in_url(label):
            return False
        if self.definition.may_hold(value, following) and not (is_url and self.definition.is_at_start):
            return False
        last = self.tags.last
        if "<" not in last:
            return True
        is_scheme = following[:1] == ":" and _SCHEME_BEGUN.search(last) is not None
        return not is_scheme and _ADDRESS_BEGUN.search(last) is None

    @property
    def is_allowed(self) -> bool:
        """Every URL at the end of the text certainly leads to an allowed host."""
        begins = self.links.opened_at
        return (
            self.links.is_in_link
            and self.links.is_allowed
            and (not self.tags.is_in_url or self.tags.begins_at(begins))
            and (not self.definition.is_open or self.definition.begins_with(_HTTPS))
        )

    def restored(self, label: EntityType | Mark, value: str) -> None:
        """Record that a value replaced a token."""
        self.links.restored(label, value)
        self.tags.feed(value)
        self.definition.restored(value)
