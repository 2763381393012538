"""Parameters for restoring an answer, passed from the request to the stages that build it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...settings.answers.tool_arguments import ToolAction, ToolArgumentRule, action_for
from ...tokens.restore import ArgumentAction, Issued, RestoreCounts, Restorer

_NOTHING: Mapping[str, Any] = {}


class Restoration:
    """Parameters for restoring one answer.

    Args:
        issued: values that may be restored: a plain mapping of tokens, or one with the site's bounds; empty if the
            original text was sent, or if the principal may not see values.
        model: the client's name of the model.
        kept: fields of the request that were not sent, although answers of the API repeat them.
        is_json: the request asked for an answer that is a JSON document, so values in it are escaped.
        tool_rules: of the route, for arguments of tool calls.
    """

    def __init__(
        self,
        issued: Issued | Mapping[str, str],
        model: str,
        counts: RestoreCounts,
        kept: Mapping[str, Any] = _NOTHING,
        *,
        is_json: bool = False,
        tool_rules: Sequence[ToolArgumentRule] = (),
    ) -> None:
        self.tool_rules = tool_rules
        self.issued = issued if isinstance(issued, Issued) or not issued else Issued(issued)
        self.model = model
        self.counts = counts
        self.kept = kept
        self.is_json = is_json

    def repeated(self) -> Restoration:
        """Return a copy for repeated text of an answer, which is not counted again."""
        return Restoration(
            self.issued, self.model, RestoreCounts(), self.kept, is_json=self.is_json, tool_rules=self.tool_rules
        )

    def argument_action(self, tool: str | None, path: tuple[str, ...] | None) -> ToolAction:
        """Return the action for an argument of a tool."""
        return action_for(self.tool_rules, tool, path)

    def restorer(self, *, is_json: bool = False, action: ArgumentAction | None = None) -> Restorer:
        """Return a restorer for one channel of the answer.

        Args:
            action: for the arguments of a tool call.
        """
        return Restorer(self.issued, is_json=is_json, counts=self.counts, action=action)

    def text(self, text: str, *, is_json: bool = False, action: ArgumentAction | None = None) -> str:
        """Restore a complete text: one channel that is fed once and flushed."""
        issued = self.issued
        if action is None and isinstance(issued, Issued):
            plain = issued.in_plain(text, self.counts, is_json=is_json)
            if plain is not None:
                return plain
        restorer = self.restorer(is_json=is_json, action=action)
        return restorer.feed(text) + restorer.flush()
