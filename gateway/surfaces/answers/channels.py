"""Restores the strings of an answer: complete ones, and those that grow in a stream.

Each string outside `Fields.left_alone` is one channel, identified by its location. One walk finds the channels of
complete answers and of events. A complete string is a channel that is fed once and flushed.

    restored(answer, FIELDS, restoration)              # a copy with values

    channels = Channels(FIELDS, restoration)
    fed: list[Channel] = []
    channels.grown({"content": "Sent to IBAN_7K2"}, (0,), fed)      # {"content": "Sent to "}; fed is [(0, "content")]
    channels.end((0, "content"))                                    # "IBAN_7K2"
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tokens.restore import ArgumentAction, Restorer
from .fields import Channel, Fields, item_index
from .restoration import Restoration

_ARGUMENTS = frozenset({"arguments", "partial_json", "input", "action"})  # of tool calls
_ANNOTATED = ("text", "content")  # of a part of a response, of a chat message
# Types of parts and events with the model's reasoning, which is prose although the answer is a JSON document.
_THINKING = frozenset(
    {
        "summary_text",
        "reasoning_text",
        "response.reasoning_summary_text.done",
        "response.reasoning_text.done",
    }
)


def restored(value: Any, fields: Fields, restoration: Restoration) -> Any:
    """Return a copy of `value` with restored values in all strings of the model, which are complete."""
    return Channels(fields, restoration).restored(value)


class Channels:
    """The channels of one answer.

    Args:
        fields: definition of the surface's strings.
        tool_key: channel of arguments that grow -> what identifies the tool call, see `call_begins`.
    """

    def __init__(
        self, fields: Fields, restoration: Restoration, tool_key: Callable[[Channel], Channel] = lambda c: c[:-1]
    ) -> None:
        self._tool_key = tool_key
        self._tools: dict[Channel, str] = {}  # names of the tools that growing calls call
        self._fields = fields
        self._restoration = restoration
        self._json = fields.json | fields.answer if restoration.is_json else fields.json
        self._growing: dict[Channel, Restorer] = {}

    def restored(self, value: Any) -> Any:
        """Return a copy of `value` with values in all strings, which are complete."""
        return self._walk(value, (), None, is_json=False)

    def grown(self, value: Any, channel: Channel, fed: list[Channel], *, key: str = "") -> Any:
        """Return a copy of `value` with the text of its strings that can be emitted.

        Args:
            channel: location of `value`.
            fed: gets the channels of its strings, in order.
            key: key of `value`, if it is a string.
        """
        return (
            value
            if key in self._fields.left_alone
            else self._walk(value, channel, fed, is_json=key in self._json, key=key)
        )

    def restorer(self, channel: Channel, *, is_json: bool, key: str = "") -> Restorer:
        """Return the restorer of a growing string.

        Args:
            key: its key, if that is not the last step of its location.
        """
        restorer = self._growing.get(channel)
        if restorer is None:
            action = (
                self._action_of_call(self._tool_key(channel))
                if channel[-1] in _ARGUMENTS or key in _ARGUMENTS
                else None
            )
            restorer = self._growing[channel] = self._restoration.restorer(is_json=is_json, action=action)
        return restorer

    def tool_of_call(self, key: Channel) -> str | None:
        """Return the tool of a call; None if it is unknown."""
        return self._tools.get(key)

    def call_begins(self, key: Channel, tool: str) -> None:
        """Record the tool of a call whose arguments grow."""
        self._tools[key] = tool

    def _action_of_call(self, key: Channel) -> ArgumentAction:
        return lambda path: self._restoration.argument_action(self._tools.get(key), path)

    def _action_of_tool(self, tool: str | None) -> ArgumentAction:
        return lambda path: self._restoration.argument_action(tool, path)

    def is_json(self, key: str) -> bool:
        """Return whether strings under this key of a delta are the text of a JSON document."""
        return key in self._json

    def under(self, prefix: Channel) -> list[Channel]:
        """Return the growing channels whose location begins with `prefix`, in the order in which they began."""
        return [channel for channel in self._growing if channel[: len(prefix)] == prefix]

    def end(self, channel: Channel) -> str:
        """End a growing channel, and return its withheld text."""
        return self._growing.pop(channel).flush()

    def move(self, annotations: Any, channel: Channel) -> None:
        """Adjust the offsets of annotations to the restored text of a growing channel, in place."""
        if (restorer := self._growing.get(channel)) is not None:
            restorer.move(annotations)

    def _walk(self, value: Any, channel: Channel, fed: list[Channel] | None, *, is_json: bool, key: str = "") -> Any:
        """Return a copy of `value` with restored strings.

        Args:
            fed: gets the channels of strings that grow; None if they are complete.
        """
        if isinstance(value, str):
            if fed is None:
                return self._restoration.text(value, is_json=is_json)
            fed.append(channel)
            return self.restorer(channel, is_json=is_json, key=key).feed(value)
        if isinstance(value, list):
            return [
                self._walk(item, (*channel, item_index(item, position)), fed, is_json=False)
                for position, item in enumerate(value)
            ]
        if isinstance(value, dict):
            return self._walk_object(value, channel, fed)
        return value

    def _walk_object(self, value: dict[str, Any], channel: Channel, fed: list[Channel] | None) -> dict[str, Any]:
        fields, made = self._fields, dict(value)
        json_keys = fields.json if value.get("type") in _THINKING else self._json
        annotated = None  # key of a complete text whose offsets are needed
        if fed is None and value.get("annotations"):
            annotated = next((key for key in _ANNOTATED if isinstance(value.get(key), str)), None)
        text: Restorer | None = None
        tool = value.get("name")
        if fed is not None and isinstance(tool, str) and tool != (known := self._tools.get(channel, "")):
            self._tools[channel] = known + tool  # a name may come in pieces
        for key, item in value.items():
            if item is None or key in fields.left_alone:
                continue
            if fed is None and key in _ARGUMENTS and self._is_call(value, key):
                called = tool or (value["type"] if key == "action" else self._tools.get(self._tool_key(channel)))
                action = self._action_of_tool(called if isinstance(called, str) else None)
                made[key] = self._arguments(item, action, is_json=key in fields.json)
            elif key in fields.documents:
                made[key] = self._document(item)
            elif key == annotated:
                text = self._restoration.restorer(is_json=key in json_keys)
                made[key] = text.feed(item) + text.flush()
            else:
                growing = None if key in fields.unsplit else fed
                made[key] = self._walk(item, (*channel, key), growing, is_json=key in json_keys)
        if text is not None:
            text.move(made["annotations"])
        elif fed is not None and made.get("annotations"):
            for key in _ANNOTATED:
                self.move(made["annotations"], (*channel, key))
        return made

    def _is_call(self, value: dict[str, Any], key: str) -> bool:
        """Return whether the value under `key` is the arguments of a tool call."""
        kind = str(value.get("type"))
        if key == "action":
            return kind.endswith("_call")
        return key in self._fields.json or "name" in value or "tool_call" in kind

    def _arguments(self, value: Any, action: ArgumentAction, *, is_json: bool, path: tuple[str, ...] = ()) -> Any:
        """Return a copy of complete arguments: the text of a JSON document, such a document, or a text."""
        if isinstance(value, str):
            if is_json:
                return self._restoration.text(value, is_json=True, action=action)
            return self._restoration.text(value, action=lambda _: action(path))
        if isinstance(value, list):
            return [self._arguments(item, action, is_json=False, path=path) for item in value]
        if isinstance(value, dict):
            keys = self._keys(value, lambda _: action(path))
            return {
                keys[key]: self._arguments(item, action, is_json=False, path=(*path, key))
                for key, item in value.items()
            }
        return value

    def _document(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._restoration.text(value)
        if isinstance(value, list):
            return [self._document(item) for item in value]
        if isinstance(value, dict):
            keys = self._keys(value, None)
            return {keys[key]: self._document(item) for key, item in value.items()}
        return value

    def _keys(self, value: dict[str, Any], action: ArgumentAction | None) -> dict[str, str]:
        """Return the restored keys of an object by its keys; a token remains if its value is a key already."""
        restored_keys: dict[str, str] = {}
        taken = set(value)
        for key in value:
            name = self._restoration.text(key, action=action)
            if name != key and name in taken:
                name = key
            taken.add(name)
            restored_keys[key] = name
        return restored_keys


def nested(path: Channel, text: str) -> Any:
    """Return the value whose only string is `text`, at `path`."""
    if not path:
        return text
    if isinstance(path[0], int):
        inner = nested(path[1:], text)
        return [{"index": path[0], **inner} if isinstance(inner, dict) else inner]
    return {path[0]: nested(path[1:], text)}
