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
from ..answers.answer_json import read_json
from ..answers.channels import Channels, nested
from ..answers.fields import Channel, Fields, item_index
from ..answers.model_name import ModelName
from ..answers.restoration import Restoration
from .event_form import EventForms


class ChoiceStream:
    """Restores one streamed answer.

    A channel is a choice's index, then keys and item indices down to the string.

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
        self._channels = Channels(fields, restoration)
        self._calls: set[Channel] = set()  # tool calls that have started
        self._forms = forms if forms is not None else EventForms()  # memo: the last chunk, a template for one more
        self.put = self._forms.put

    def feed(self, data: bytes) -> list[bytes]:
        if self.is_finished:
            return []
        if data == DONE:
            self.is_finished = True
            flushed = self._flush(self._channels.under(()))
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
            is_json = self._channels.is_json(field)
            feed = self._channels.restorer(channel, is_json=is_json).feed if self._restoration.issued else None
            self._forms.learn(data, chunk, holder=holder, field=field, change=feed, write=self._renamed, memo=chunk)
            if feed is not None:
                text = holder[field]
                holder[field] = new = feed(text)
                if new is not text:
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
                made = self._channels.restored(holder[key])
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

    def _only_text(self, choice: Any) -> tuple[dict[str, Any], str, Channel] | None:
        """Return holder and channel of the text if the choice is one chunk of one text and not the last."""
        if type(choice) is not dict or choice.get("finish_reason") is not None:
            return None
        made, index = choice.get(self._payload), choice.get("index", 0)
        if type(index) is not int:
            return None
        if type(made) is dict and len(made) == 1:
            field = next(iter(made))
            if type(made[field]) is str and field not in self._fields.unsplit and field not in self._fields.left_alone:
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
                    change=self._channels.restorer(
                        (index, "tool_calls", call, "function", "arguments"),
                        is_json=self._channels.is_json("arguments"),
                    ).feed,
                    write=lambda _, other: self._written(other),
                    memo=chunk,
                )

    def _choice(self, choice: dict[str, Any]) -> list[bytes]:
        """Restore a choice of a chunk in place; return the events that must precede it."""
        index = choice.get("index", 0)
        fed: list[Channel] = []
        made = choice.get(self._payload)
        if made is not None:
            choice[self._payload] = self._channels.grown(made, (index,), fed, key=self._payload)
        if choice.get("finish_reason") is not None:
            ending = self._channels.under((index,))
        else:
            calls = {channel[:3] for channel in fed if len(channel) > 2 and channel[1] == "tool_calls"}
            is_next = not calls <= self._calls
            self._calls |= calls
            open_calls = self._channels.under((index, "tool_calls")) if is_next else []
            ending = [channel for channel in open_calls if channel[:3] not in calls]
        for channel in fed:
            if channel in ending:
                _extend(choice, (self._payload, *channel[1:]), self._ended(channel))
                ending.remove(channel)
        return self._flush(ending)

    def _ended(self, channel: Channel) -> str:
        """Return the withheld text of a channel."""
        self._forms.forget()
        return self._channels.end(channel)

    def _flush(self, channels: list[Channel]) -> list[bytes]:
        events = []
        for channel in channels:
            if held := self._ended(channel):
                made = nested(channel[1:], held)
                choice = {"index": channel[0], self._payload: made, "logprobs": None, "finish_reason": None}
                more = {key: value for key, value in self._forms.memo.items() if key != "usage"}
                events.append(self._written({**more, "choices": [choice]}))
        return events


def _extend(value: Any, path: Channel, text: str) -> None:
    """Append to the string at `path`, which has just been restored."""
    *parents, last = path
    for step in parents:
        if isinstance(step, int):
            step = next(place for place, item in enumerate(value) if item_index(item, place) == step)
        value = value[step]
    value[last] += text
