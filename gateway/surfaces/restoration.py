"""What an answer is restored with: it goes from the request to everything that makes its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tokens.restore import Issued, RestoreCounts, Restorer

_NOTHING: Mapping[str, Any] = {}


class Restoration:
    """What one answer is restored with.

    Args:
        issued: what may be put back: a plain mapping of tokens, or one with the site's bounds; empty when raw text was
            sent, or when the caller may not see values.
        model: what the client called the model.
        kept: fields of the request that stayed here although the answers of its API repeat them.
        is_json: the request asked for an answer that is a JSON document, so values in it are escaped.
    """

    def __init__(
        self,
        issued: Issued | Mapping[str, str],
        model: str,
        counts: RestoreCounts,
        kept: Mapping[str, Any] = _NOTHING,
        *,
        is_json: bool = False,
    ) -> None:
        self.issued = issued if isinstance(issued, Issued) or not issued else Issued(issued)
        self.model = model
        self.counts = counts
        self.kept = kept
        self.is_json = is_json

    def repeated(self) -> Restoration:
        """For text that an answer says a second time: it is restored the same way, and not counted again."""
        return Restoration(self.issued, self.model, RestoreCounts(), self.kept, is_json=self.is_json)

    def restorer(self, *, is_json: bool = False) -> Restorer:
        """A restorer for one channel of the answer."""
        return Restorer(self.issued, is_json=is_json, counts=self.counts)

    def text(self, text: str, *, is_json: bool = False) -> str:
        """A whole text, restored."""
        issued = self.issued
        if isinstance(issued, Issued) and (plain := issued.in_plain(text, self.counts, is_json=is_json)) is not None:
            return plain
        restorer = self.restorer(is_json=is_json)
        return restorer.feed(text) + restorer.flush()
