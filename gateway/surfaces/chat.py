"""OpenAI's chat completions.

Every string of an answer is a channel of its own and is restored, whatever field it stands in: content, refusal,
reasoning, tool arguments (as JSON), and what an upstream may add tomorrow. Left alone are ids, types, roles, usage and
logprobs: those describe the tokens the model wrote, which are ours. In a stream, what a channel holds back comes out
before the choice's `finish_reason`, and a tool call's before the next tool call begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from sovctl.gateway.errors import Code, Refused, UpstreamFailed
from sovctl.gateway.leaves import Path
from sovctl.gateway.obstacles import Obstacle
from sovctl.gateway.restore import Restorer, restore
from sovctl.gateway.sse import DONE, event
from sovctl.gateway.surfaces.surface import EventStream, Restoration, Surface

# Keys whose strings are not the model's prose.
_LEFT_ALONE = frozenset({"id", "object", "type", "role", "finish_reason", "stop_reason", "logprobs", "format"})
_WHOLE = frozenset({"name"})  # comes in one piece in a stream: a function's name
_JSON = frozenset({"arguments"})

_Channel = tuple[str | int, ...]
"""Choice index, then keys and item indices down to a string."""


_NOT_PROSE = frozenset({"role", "type", "id", "tool_call_id", "name"})
_SPEAKERS = frozenset({"user", "assistant", "system", "developer"})


# Content part types, as OpenAI and vLLM name them.
_PARTS: dict[str, Obstacle | None] = {
    "text": None,
    "refusal": None,
    "image_url": Obstacle.IMAGE,
    "input_image": Obstacle.IMAGE,
    "input_audio": Obstacle.AUDIO,
    "audio_url": Obstacle.AUDIO,
    "file": Obstacle.FILE,
    "input_file": Obstacle.FILE,
}


class ChatCompletions(Surface):
    """`POST /v1/chat/completions`."""

    name = "chat.completions"
    path = "chat/completions"
    parts = _PARTS
    dropped = frozenset({"user", "safety_identifier", "prompt_cache_key", "metadata", "store", "cache_salt"})

    def check(self, body: Mapping[str, Any]) -> None:
        super().check(body)
        messages = body.get("messages")
        if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
            raise Refused(Code.INVALID_REQUEST)

    def prose(self, path: Path) -> Path | None:
        return path[:2] if path[0] == "messages" and path[-1] not in _NOT_PROSE else None

    def is_part(self, path: Path) -> bool:
        return len(path) == 4 and path[2] == "content" and path[0] == "messages"

    def is_person(self, path: Path, body: Mapping[str, Any]) -> bool:
        return (
            len(path) == 3
            and path[2] == "name"
            and path[0] == "messages"
            and body["messages"][path[1]].get("role") in _SPEAKERS
        )

    def beginning(self, body: Mapping[str, Any]) -> list[Any]:
        beginning: list[Any] = [body.get("user")]
        for message in body["messages"]:
            beginning.append(message)
            if message.get("role") == "user":
                break
        return beginning

    def max_answer_tokens(self, body: Mapping[str, Any]) -> int:
        asked = body.get("max_completion_tokens")
        return asked if isinstance(asked, int) and asked > 0 else super().max_answer_tokens(body)

    def whole(self, answer: Any, restoration: Restoration) -> dict[str, Any]:
        if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list):
            raise UpstreamFailed("protocol")
        answer["model"] = restoration.model
        if restoration.issued:
            answer["choices"] = _restored(answer["choices"], restoration)
        return answer

    def stream(self, restoration: Restoration) -> EventStream:
        return ChatStream(restoration)


def _restored(value: Any, restoration: Restoration, *, is_json: bool = False) -> Any:
    if isinstance(value, str):
        restorer = Restorer(restoration.issued, is_json=is_json, counts=restoration.counts)
        return restorer.feed(value) + restorer.flush()
    if isinstance(value, list):
        return [_restored(item, restoration) for item in value]
    if isinstance(value, dict):
        return {
            key: item if key in _LEFT_ALONE else _restored(item, restoration, is_json=key in _JSON)
            for key, item in value.items()
        }
    return value


class ChatStream:
    """Restores one streamed chat completion."""

    def __init__(self, restoration: Restoration) -> None:
        self.is_finished = False
        self._issued = restoration.issued
        self._model = restoration.model
        self._counts = restoration.counts
        self._channels: dict[_Channel, Restorer] = {}
        self._envelope: dict[str, Any] = {}

    def feed(self, data: bytes) -> list[bytes]:
        if data == DONE:
            self.is_finished = True
            return self._flush(list(self._channels))
        try:
            chunk = orjson.loads(data)
        except orjson.JSONDecodeError:
            raise UpstreamFailed("protocol") from None
        if not isinstance(chunk, dict) or not isinstance(chunk.get("choices"), list):
            raise UpstreamFailed("protocol" if not isinstance(chunk, dict) or "error" not in chunk else "error-event")
        chunk["model"] = self._model
        if not self._issued:
            return [event(orjson.dumps(chunk))]
        self._envelope = {key: value for key, value in chunk.items() if key not in ("choices", "usage")}
        before: list[bytes] = []
        for choice in chunk["choices"]:
            if not isinstance(choice, dict) or not isinstance(choice.get("index", 0), int):
                raise UpstreamFailed("protocol")
            before += self._choice(choice)
        return [*before, event(orjson.dumps(chunk))]

    def last(self) -> list[bytes]:
        return [event(DONE)]

    def _choice(self, choice: dict[str, Any]) -> list[bytes]:
        """Restore a choice of a chunk in place; events that have to come before it."""
        index = choice.get("index", 0)
        fed: list[_Channel] = []
        delta = choice.get("delta")
        if isinstance(delta, dict):
            choice["delta"] = self._fed(delta, (index,), fed)
        if choice.get("finish_reason") is not None:
            ending = [channel for channel in self._channels if channel[0] == index]
        else:
            tools = {channel[:3] for channel in fed if len(channel) > 2 and channel[1] == "tool_calls"}
            ending = [
                channel
                for channel in self._channels
                if tools and channel[:2] == (index, "tool_calls") and channel[:3] not in tools
            ]
        for channel in fed:
            if channel in ending:
                _extend(choice["delta"], channel[1:], self._channels.pop(channel).flush())
        return self._flush([channel for channel in ending if channel in self._channels])

    def _fed(self, value: Any, channel: _Channel, fed: list[_Channel]) -> Any:
        if isinstance(value, str):
            if channel[-1] in _WHOLE:
                return restore(value, self._issued)
            fed.append(channel)
            restorer = self._channels.get(channel)
            if restorer is None:
                restorer = Restorer(self._issued, is_json=channel[-1] in _JSON, counts=self._counts)
                self._channels[channel] = restorer
            return restorer.feed(value)
        if isinstance(value, list):
            return [self._fed(item, (*channel, _index(item, position)), fed) for position, item in enumerate(value)]
        if isinstance(value, dict):
            return {
                key: item if key in _LEFT_ALONE else self._fed(item, (*channel, key), fed)
                for key, item in value.items()
            }
        return value

    def _flush(self, channels: list[_Channel]) -> list[bytes]:
        events = []
        for channel in channels:
            if held := self._channels.pop(channel).flush():
                delta = _nested(channel[1:], held)
                choice = {"index": channel[0], "delta": delta, "logprobs": None, "finish_reason": None}
                events.append(event(orjson.dumps({**self._envelope, "choices": [choice]})))
        return events


def _index(item: Any, position: int) -> int:
    """Tool calls say which one they continue; anything else goes by its place."""
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
