"""The form that most events of a stream share: all bytes the same, but for one string.

A model's answer comes in hundreds of events that differ in one piece of text. Reading and writing the JSON of each
costs several times what restoring that text does; so once an event was read, those of its form are known by their
first and last bytes, framing included, and only the string between them is read and written. Where several of a form
come together, because we were slower than the server, their strings are read in one go.

    forms = EventForms()
    delta = said["choices"][0]["delta"]
    forms.learn(data, said, holder=delta, field="content", change=restorer.feed, write=framed)
    forms.put(b"data: " + data + b"\n\n")    # the events that stand for it, or None when it has another form

This is safe by JSON's grammar alone: when another string in that place makes the event say the same but for that string
(which is tried), any other one does too; and whether it is one string is what the JSON parser says.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_not
from typing import Any

import orjson

_PROBE = "7c1f0b5e9d"  # stands in the place of the string while a form is learnt
_PROBE_BYTES = _PROBE.encode()
_END = b"\n\n"
_LINE_FEED = 10  # as a number: CPython 3.11 takes bytes for a failed number first, at ten times the cost
_MOST_FORMS = 4  # reasoning, content, and two choices at a time
_MOST_LEARNT = 16  # by one stream: where every event is of its own form, looking for it is given up


class _Form:
    __slots__ = ("begin", "between", "change", "close", "end", "memo", "opened")

    def __init__(
        self, begin: bytes, end: bytes, written: list[bytes], change: Callable[[str], str] | None, memo: Any
    ) -> None:
        self.begin, self.end = begin + b'"', b'"' + end  # of a framed event
        self.between = self.end + self.begin
        self.opened, self.close = written[0] + b'"', b'"' + written[1]  # of what is written
        self.change = change
        self.memo = memo

    def several(self, inside: bytes) -> bytes | None:
        """The framed events for some; None when not all have this form, or are no JSON.

        Args:
            inside: from the first one's string to the last one's.
        """
        strings = inside.split(self.between)
        try:
            texts = orjson.loads(b'["%b"]' % b'",\n"'.join(strings))  # no string goes on behind a line's end
        except orjson.JSONDecodeError:
            return None
        if len(texts) != len(strings):
            return None  # one was more than a string
        if (change := self.change) is not None:
            changed = [change(text) for text in texts]
            if any(map(is_not, changed, texts)):
                pairs = zip(strings, texts, changed, strict=True)
                strings = [string if new is text else orjson.dumps(new)[1:-1] for string, text, new in pairs]
        return self.opened + (self.close + self.opened).join(strings) + self.close


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

    def put(self, events: bytes) -> bytes | None:
        """The framed events that stand for `events`, their strings changed: one or several of a form that is known.

        None for any other.
        """
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
                    return None  # more than a string, or no JSON
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
        """Remember the form of an event, if it has one.

        Args:
            said: what `data` says.
            holder: the object in it that holds the string.
            change: what the string goes through; must return the same object when it leaves it as it is.
            write: the framed event for an event's data and what it says, when its string stays as it is.
            memo: for who puts an event of this form.
            lead: what its frame begins with.
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
            self._forms = [form, *self._forms[: _MOST_FORMS - 1]]
