"""Recognizes stream events that differ from an earlier one in a single string.

A model's answer consists of hundreds of events that differ in one string. Parsing and writing the JSON of each
costs several times as much as restoring the text. Therefore, after one event was parsed, events of the same form are
recognized by their first and last bytes, framing included, and only the string between them is parsed and written. If
several
events of a form arrive together, because the server was faster, their strings are parsed in one pass.

forms = EventForms()
delta = said["choices"][0]["delta"]
forms.learn(data, said, holder=delta, field="content", change=restorer.feed, write=framed)
forms.put(b"data: " + data + b"\\n\\n")    # the restored events, or None if the form is unknown

JSON's grammar guarantees correctness: if another string in that position changes only that string of the parsed event
(which `learn` verifies), so does any string. The JSON parser verifies that the bytes are one string.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_not
from typing import Any

import orjson

_PROBE = "7c1f0b5e9d"  # replaces the string while a form is learnt
_PROBE_BYTES = _PROBE.encode()
_END = b"\n\n"
_LINE_FEED = 10  # as a number: CPython 3.11 tries to read bytes as a number first, at ten times the cost
_MAX_FORMS = 4  # reasoning, content, and two choices at a time
_MAX_LEARNT = 16  # per stream: a stream whose events all have different forms is not learnt further


class _Form:
    __slots__ = ("begin", "between", "change", "close", "end", "memo", "opened")

    def __init__(
        self, begin: bytes, end: bytes, written: list[bytes], change: Callable[[str], str] | None, memo: Any
    ) -> None:
        self.begin, self.end = begin + b'"', b'"' + end  # beginning and end of a framed event
        self.between = self.end + self.begin
        self.opened, self.close = written[0] + b'"', b'"' + written[1]  # beginning and end of the written event
        self.change = change
        self.memo = memo

    def several(self, inside: bytes) -> bytes | None:
        """Return the framed events for several; None if not all have this form, or one is invalid.

        Args:
            inside: from the first event's string to the last one's.
        """
        strings = inside.split(self.between)
        try:
            # A JSON string cannot contain a line feed, so each line is at most one string.
            texts = orjson.loads(b'["%b"]' % b'",\n"'.join(strings))
        except orjson.JSONDecodeError:
            return None
        if len(texts) != len(strings):
            return None  # one contained more than a string
        if (change := self.change) is not None:
            changed = [change(text) for text in texts]
            if any(map(is_not, changed, texts)):
                pairs = zip(strings, texts, changed, strict=True)
                strings = [string if new is text else orjson.dumps(new)[1:-1] for string, text, new in pairs]
        return self.opened + (self.close + self.opened).join(strings) + self.close


class EventForms:
    """The event forms of one stream.

    Args:
        most_learnt: maximum number of forms; 0: every event is parsed.
    """

    __slots__ = ("_forms", "_left", "memo")

    def __init__(self, most_learnt: int = _MAX_LEARNT) -> None:
        self.memo: Any = None
        """Value given when the form of the last event was learnt. Set by a caller that parses an event itself."""
        self._forms: list[_Form] = []
        self._left = most_learnt

    def forget(self) -> None:
        """Forget all forms, because the function for their strings has changed."""
        self._forms.clear()

    def put(self, events: bytes) -> bytes | None:
        """Return the framed events for `events`, with changed strings, if they have a known form. None otherwise."""
        for form in self._forms:
            behind = events.removeprefix(form.begin)
            string = behind.removesuffix(form.end)
            if len(string) < len(behind) < len(events):
                if _LINE_FEED in string:
                    written = form.several(string)
                    if written is not None:
                        self.memo = form.memo
                    return written
                try:
                    text = orjson.loads(b'"' + string + b'"')
                except orjson.JSONDecodeError:
                    return None  # more than a string, or invalid JSON
                self.memo = form.memo
                if form.change is not None and (changed := form.change(text)) is not text:
                    string = orjson.dumps(changed)[1:-1]
                return form.opened + string + form.close
        return None

    def learn(
        self,
        data: bytes,
        said: Any,
        *,
        holder: dict[str, Any],
        field: str,
        change: Callable[[str], str] | None,
        write: Callable[[bytes, Any], bytes],
        memo: Any,
        lead: bytes = b"",
    ) -> None:
        """Learn the form of an event, if it has one.

        Args:
            said: the parsed `data`.
            holder: the object in it that contains the string.
            change: function for the string; must return the same object for an unchanged string.
            write: returns the framed event for data and parsed event, if its string is unchanged.
            memo: returned with events of this form.
            lead: first bytes of its frame.
        """
        if not self._left:
            return
        self._left -= 1
        text = holder[field]
        literal = orjson.dumps(text)
        begin, found, end = data.rpartition(literal)
        if not found or _PROBE_BYTES in data or _LINE_FEED in data:
            return
        probe = b'"' + _PROBE_BYTES + b'"'
        probed = begin + probe + end
        try:
            other = orjson.loads(probed)
        except orjson.JSONDecodeError:
            return
        holder[field] = _PROBE
        is_same = other == said
        holder[field] = text
        if not is_same:
            return
        written = write(probed, other).split(probe)
        if len(written) == 2:
            form = _Form(lead + b"data: " + begin, end + _END, written, change, memo)
            self._forms = [form, *self._forms[: _MAX_FORMS - 1]]
