"""Puts values back in the place of tokens, while an answer streams by. Pure, incremental, one pass.

One `Restorer` serves one channel: one field of one choice, or the arguments of one tool call. It holds back only what
is truly the beginning of a token, never more; what was put back is never read again; a token that is cut off by the
end of the answer is emitted as it is. Only tokens that were issued to this tenant in this conversation are restored;
any other is text.

    restorer = Restorer(issued)
    restorer.feed("Sent to IBAN_7K2")      # "Sent to "
    restorer.feed("M0C3...")               # "DE89 3704 0044 0532 0130 00"
    restorer.flush()                       # ""
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sovctl.gateway.links import JsonLinkContext, LinkContext
from sovctl.gateway.tokens import Found, begun_token, find_token


@dataclass(slots=True)
class RestoreCounts:
    """What happened to the tokens of an answer; for metrics and audit."""

    restored: int = 0
    withheld: int = 0
    """Inside a link."""
    unknown: int = 0
    """Well-formed, but not issued in this conversation."""
    malformed: int = 0
    """With a wrong check character."""


class Restorer:
    """Restores one channel.

    Args:
        issued: canonical token -> the text it stands for.
        is_json: the channel is the text of a JSON document (tool arguments), so values are escaped.
        counts: added to; shared by all channels of an answer.
    """

    def __init__(
        self, issued: Mapping[str, str], *, is_json: bool = False, counts: RestoreCounts | None = None
    ) -> None:
        self._issued = issued
        self._is_json = is_json
        self._context: LinkContext = JsonLinkContext() if is_json else LinkContext()
        self._held = ""
        self.counts = counts if counts is not None else RestoreCounts()

    @property
    def is_holding(self) -> bool:
        """True when the beginning of a token is held back."""
        return bool(self._held)

    def feed(self, text: str) -> str:
        """What can be emitted once `text` has come; together with later results and `flush`, nothing is lost."""
        text = self._held + text
        out: list[str] = []
        position = 0
        while (found := find_token(text, position)) is not None:
            self._plain(text[position : found.start], out)
            position = self._token(text, found, out)
        end = begun_token(text, position)
        self._plain(text[position:end], out)
        self._held = text[end:]
        return "".join(out)

    def flush(self) -> str:
        """The end of the channel: what was held back is no token, and emitted as it is."""
        held, self._held = self._held, ""
        self._context.feed(held)
        return held

    def _plain(self, text: str, out: list[str]) -> None:
        if text:
            out.append(text)
            self._context.feed(text)

    def _token(self, text: str, found: Found, out: list[str]) -> int:
        """Emit what a token stands for; the position from which to read on."""
        surface = self._issued.get(found.token) if found.token else None
        if surface is None:
            if found.token is None:
                self.counts.malformed += 1
            else:
                self.counts.unknown += 1
            self._plain(text[found.start], out)  # a genuine token may begin inside
            return found.start + 1
        if not self._context.may_restore(found.label):
            self.counts.withheld += 1
            self._plain(text[found.start : found.end], out)
            return found.end
        self.counts.restored += 1
        out.append(json.dumps(surface, ensure_ascii=False)[1:-1] if self._is_json else surface)
        self._context.restored(found.label)
        return found.end


def restore(text: str, issued: Mapping[str, str], *, is_json: bool = False) -> str:
    """A whole text at once."""
    restorer = Restorer(issued, is_json=is_json)
    return restorer.feed(text) + restorer.flush()
