"""Streams of choices: OpenAI's completions and chat completions, and vLLM's transcriptions.

Every string of a choice's payload (`delta` in a chat, `text` in a completion) is a separate channel and is restored,
in any field: content, refusal, reasoning, tool arguments (as JSON), and unknown fields. Withheld text of a channel
is emitted before the choice's `finish_reason`, and that of a tool call before the next
tool call begins; started calls may then alternate.

stream = ChoiceStream(restoration, payload="delta", fields=fields)
stream.feed(b'{"choices":[{"index":0,"delta":{"content":"Sent to IBAN_7K2"}}]}')
"""

from __future__ import annotations

from typing import Any, Literal

import orjson

from ...body.sse import DONE, event
from ...domain.errors import UpstreamFailed
from ...tokens.restore import Restorer
from ..answers.answer_json import read_json
from ..answers.fields import Fields, restored
from ..answers.model_name import ModelName
from ..answers.restoration import Restoration
from .event_form import EventForms

_WHOLE = frozenset({"name"})  # not split over events: a function's name

_ANSWERS = frozenset({(), ("content",)})  # paths of the answer itself in a choice: of a completion, of a chat

_Channel = tuple[str | int, ...]
"""Choice index, then keys and item indices down to a string."""


class ChoiceStream:
    """Restores one streamed answer.

    Args:
        payload: the field of a choice that contains the generated text.
        forms: event forms, shared with other streams of the answer.
    """

    def __init__(
        self,
        restoration: Restoration,
        *,
        payload: Literal["delta", "text"],
        fields: Fields,
        forms: EventForms | None = None,
    ) -> None:
        self.is_finished = False
        self._restoration = restoration
        self._payload = payload
        self._fields = fields
        self._own = fields.left_alone | {"choices", "index", payload}  # keys of a chunk, and of a choice
        self._name = ModelName(restoration.model)
        self._channels: dict[_Channel, Restorer] = {}
        self._calls: set[_Channel] = set()  # tool calls that have started
        self._forms = forms if forms is not None else EventForms()  # memo: the last chunk, a template for one more
        self.put = self._forms.put

    def feed(self, data: bytes) -> list[bytes]:
        if self.is_finished:
            return []
        if data == DONE:
            self.is_finished = True
            flushed = self._flush(list(self._channels))
            self._forms.forget()
            return flushed
        chunk = read_json(data)
        if not isinstance(chunk, dict) or not isinstance(chunk.get("choices"), list):
            raise UpstreamFailed("protocol" if not isinstance(chunk, dict) or "error" not in chunk else "error-event")
        self._forms.memo, choices = chunk, chunk["choices"]
        if any(type(choice) is not dict for choice in choices):
            raise UpstreamFailed("protocol")
        is_odd = bool(self._restoration.issued) and self._restored_around(chunk, choices)
        if not is_odd and len(choices) == 1 and (only := self._only_text(choices[0])) is not None:
            holder, field, channel = only
            feed = self._restorer(channel).feed if self._restoration.issued else None
            self._forms.learn(data, chunk, holder=holder, field=field, change=feed, write=self._renamed, memo=chunk)
            if feed is not None:
                text = holder[field]
                holder[field] = restored = feed(text)
                if restored is not text:
                    return [self._written(chunk)]
        elif self._restoration.issued:
            if not is_odd and len(choices) == 1:
                self._learn_arguments(data, chunk, choices[0])
            return self._restored(chunk, choices)
        return [self._renamed(data, chunk)]

    def last(self) -> list[bytes]:
        return [event(DONE)]

    def _restored_around(self, chunk: dict[str, Any], choices: list[dict[str, Any]]) -> bool:
        """Restore in place the complete strings outside the payloads, such as citations and filter results. Return
        whether any changed."""
        is_odd = False
        for holder in (chunk, *choices):
            for key in holder.keys() - self._own:
                made = restored(holder[key], self._fields, self._restoration)
                if made != holder[key]:
                    holder[key], is_odd = made, True
        return is_odd

    def _restored(self, chunk: dict[str, Any], choices: list[Any]) -> list[bytes]:
        before: list[bytes] = []
        for choice in choices:
            if not isinstance(choice.get("index", 0), int):
                raise UpstreamFailed("protocol")
            before += self._choice(choice)
        return [*before, self._written(chunk)]

    def _renamed(self, data: bytes, chunk: dict[str, Any]) -> bytes:
        return event(self._name.put(data, chunk, chunk))

    def _written(self, chunk: dict[str, Any]) -> bytes:
        if "model" in chunk:
            chunk["model"] = self._restoration.model
        return event(orjson.dumps(chunk))

    def _only_text(self, choice: Any) -> tuple[dict[str, Any], str, _Channel] | None:
        """Return holder and channel of the text if the choice is one chunk of one text and not the last."""
        if type(choice) is not dict or choice.get("finish_reason") is not None:
            return None
        made, index = choice.get(self._payload), choice.get("index", 0)
        if type(index) is not int:
            return None
        if type(made) is dict and len(made) == 1:
            field = next(iter(made))
            if type(made[field]) is str and field not in _WHOLE and field not in self._fields.left_alone:
                return made, field, (index, field)
        if type(made) is str:
            return choice, self._payload, (index,)
        return None

    def _learn_arguments(self, data: bytes, chunk: dict[str, Any], choice: Any) -> None:
        """Learn the form of an event that is one chunk of one tool call's arguments."""
        if type(choice) is not dict or choice.get("finish_reason") is not None:
            return
        match choice.get("index"), choice.get(self._payload):
            case int(index), {
                "tool_calls": [{"index": int(call), "function": {"arguments": str()} as function, **more}],
                **rest,
            } if not (more or rest or len(function) > 1):
                self._forms.learn(
                    data,
                    chunk,
                    holder=function,
                    field="arguments",
                    change=self._restorer((index, "tool_calls", call, "function", "arguments")).feed,
                    write=lambda _, other: self._written(other),
                    memo=chunk,
                )

    def _restorer(self, channel: _Channel) -> Restorer:
        restorer = self._channels.get(channel)
        if restorer is None:
            is_answer = self._restoration.is_json and channel[1:] in _ANSWERS
            restorer = self._restoration.restorer(is_json=is_answer or channel[-1] in self._fields.json)
            self._channels[channel] = restorer
        return restorer

    def _choice(self, choice: dict[str, Any]) -> list[bytes]:
        """Restore a choice of a chunk in place; return the events that must precede it."""
        index = choice.get("index", 0)
        fed: list[_Channel] = []
        made = choice.get(self._payload)
        if made is not None:
            choice[self._payload] = fed_now = self._fed(made, (index,), fed)
            if isinstance(fed_now, dict) and fed_now.get("annotations") and (index, "content") in self._channels:
                self._channels[index, "content"].offsets.move(fed_now["annotations"])
        if choice.get("finish_reason") is not None:
            ending = [channel for channel in self._channels if channel[0] == index]
        else:
            calls = {channel[:3] for channel in fed if len(channel) > 2 and channel[1] == "tool_calls"}
            is_next = not calls <= self._calls
            self._calls |= calls
            ending = [
                channel
                for channel in self._channels
                if is_next and channel[:2] == (index, "tool_calls") and channel[:3] not in calls
            ]
        for channel in fed:
            if channel in ending:
                _extend(choice, (self._payload, *channel[1:]), self._ended(channel))
        return self._flush([channel for channel in ending if channel in self._channels])

    def _fed(self, value: Any, channel: _Channel, fed: list[_Channel]) -> Any:
        if isinstance(value, str):
            if channel[-1] in _WHOLE:
                return self._restoration.text(value)
            fed.append(channel)
            return self._restorer(channel).feed(value)
        if isinstance(value, list):
            return [self._fed(item, (*channel, _index(item, position)), fed) for position, item in enumerate(value)]
        if isinstance(value, dict):
            return {
                key: item if key in self._fields.left_alone else self._fed(item, (*channel, key), fed)
                for key, item in value.items()
            }
        return value

    def _ended(self, channel: _Channel) -> str:
        """Return the withheld text of a channel."""
        self._forms.forget()
        return self._channels.pop(channel).flush()

    def _flush(self, channels: list[_Channel]) -> list[bytes]:
        events = []
        for channel in channels:
            if held := self._ended(channel):
                made = _nested(channel[1:], held)
                choice = {"index": channel[0], self._payload: made, "logprobs": None, "finish_reason": None}
                more = {key: value for key, value in self._forms.memo.items() if key != "usage"}
                events.append(self._written({**more, "choices": [choice]}))
        return events


def _index(item: Any, position: int) -> int:
    """Return the `index` of a tool call, which identifies the call it continues; of other items, their position."""
    index = item.get("index") if isinstance(item, dict) else None
    return index if isinstance(index, int) else position


def _nested(path: _Channel, text: str) -> Any:
    if not path:
        return text
    if isinstance(path[0], int):
        inner = _nested(path[1:], text)
        return [{"index": path[0], **inner} if isinstance(inner, dict) else inner]
    return {path[0]: _nested(path[1:], text)}


def _extend(value: Any, path: _Channel, text: str) -> None:
    """Append to the string at `path`, which `_fed` has just written."""
    *parents, last = path
    for step in parents:
        if isinstance(step, int):
            step = next(place for place, item in enumerate(value) if _index(item, place) == step)
        value = value[step]
    value[last] += text
