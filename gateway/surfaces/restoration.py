"""What an answer is restored with: a value object that goes from the request to everything that makes its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sovctl.gateway.restore import RestoreCounts, Restorer


@dataclass(frozen=True, slots=True)
class Restoration:
    """What an answer is restored with."""

    issued: Mapping[str, str]
    """Canonical token -> the text it stands for; empty when raw text was sent."""
    model: str
    """What the client called the model."""
    counts: RestoreCounts
    kept: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the request that stayed here although the answers of its API repeat them."""

    def repeated(self) -> Restoration:
        """For text that an answer says a second time: it is restored again, and not counted again."""
        return replace(self, counts=RestoreCounts())

    def restorer(self, *, is_json: bool = False) -> Restorer:
        """A restorer for one channel of the answer."""
        return Restorer(self.issued, is_json=is_json, counts=self.counts)

    def text(self, text: str, *, is_json: bool = False) -> str:
        """A whole text, restored."""
        restorer = self.restorer(is_json=is_json)
        return restorer.feed(text) + restorer.flush()
