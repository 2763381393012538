"""The form that most events of a stream share: all bytes the same, but for one string.

A model's answer comes in hundreds of events that differ in one piece of text. Reading and writing the JSON of each
costs several times what restoring that text does; so once an event was read, those of its form are known by their
first and last bytes, framing included, and only the string between them is read and written.

    forms = EventForms()
    delta = said["choices"][0]["delta"]
    forms.learn(data, said, holder=delta, field="content", change=restorer.feed, write=framed)
    forms.put(b"data: " + data + b"\n\n")    # the event that stands for it, or None when it has another form

This is safe by JSON's grammar alone: when another string in that place makes the event say the same but for that string
(which is tried), any other one does too; and whether it is one string is what the JSON parser says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

_PROBE = "7c1f0b5e9d"  # stands in the place of the string while a form is learnt
_PROBE_BYTES = _PROBE.encode()
_LINE_FEED = 10  # as a number: CPython 3.11 takes bytes for a failed number first, at ten times the cost
_MOST_FORMS = 4  # reasoning, content, and two choices at a time
_MOST_LEARNT = 16  # by one stream: where every event is of its own form, looking for it is given up


class _Form:
    __slots__ = ("begin", "behind", "change", "close", "end", "first", "least_bytes", "memo", "opened")

    def __init__(
        self, begin: bytes, end: bytes, written: list[bytes], change: Callable[[str], str] | None, memo: Any
    ) -> None:
        self.begin, self.end = begin + b'"', b'"' + end  # of a framed event
        self.opened, self.close = written  # what stands around the string in what is written
        self.first, self.behind = len(begin), -len(end)  # where the string is in the event, with its quotes
        self.least_bytes = len(begin) + len(end) + 2
        self.change = change
        self.memo = memo


class EventForms:
    """The forms of one stream.

    Args:
        most_learnt: of 0, every event is read.
    """

    __slots__ = ("_forms", "_left", "memo")

    def __init__(self, most_learnt: int = _MOST_LEARNT) -> None:
        self.memo: Any = None
        """Of the event that was put last: what was given when its form was learnt. Whoever reads one may set it."""
        self._forms: list[_Form] = []
        self._left = most_learnt

    def forget(self) -> None:
        """What strings go through has changed."""
        self._forms.clear()

    def put(self, event: bytes) -> bytes | None:
        """The framed event that stands for `event`, its string changed; None when it has no form that is known, or is
        more than one event."""
        for form in self._forms:
            if event.startswith(form.begin) and event.endswith(form.end) and len(event) >= form.least_bytes:
                literal = event[form.first : form.behind]
                if _LINE_FEED in literal:
                    return None  # more than one event
                try:
                    text = orjson.loads(literal)
                except orjson.JSONDecodeError:
                    return None  # more than a string, or no JSON
                self.memo = form.memo
                if form.change is not None and (changed := form.change(text)) is not text:
                    literal = orjson.dumps(changed)
                return form.opened + literal + form.close
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
    ) -> None:
        """Remember the form of an event, if it has one.

        Args:
            said: what `data` says.
            holder: the object in it that holds the string.
            change: what the string goes through; must return the same object when it leaves it as it is.
            write: the framed event for an event's data and what it says, when its string stays as it is.
            memo: for who puts an event of this form.
        """
        if not self._left:
            return
        self._left -= 1
        text = holder[field]
        literal = orjson.dumps(text)
        begin, found, end = data.rpartition(literal)
        if not found or _PROBE_BYTES in data:
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
            form = _Form(b"data: " + begin, end + b"\n\n", written, change, memo)
            self._forms = [form, *self._forms[: _MOST_FORMS - 1]]
