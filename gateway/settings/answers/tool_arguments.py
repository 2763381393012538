"""Settings of values in the arguments of tool calls: by tool and argument."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import Field, StringConstraints

from ..base.model import SettingsModel

Pattern = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class ToolAction(StrEnum):
    """Action for a token in an argument of a tool call."""

    RESTORE = "restore"
    KEEP_TOKEN = "keep-token"  # the tool gets the token
    REFUSE = "refuse"  # the client receives the error `answer_withheld`


class ToolArgumentRule(SettingsModel):
    """A rule for arguments of tools. The last matching rule applies, before the defaults."""

    tools: Annotated[list[Pattern], Field(min_length=1)] = Field(default_factory=lambda: ["*"])
    """Names of tools; `*` matches any text."""
    arguments: Annotated[list[Pattern], Field(min_length=1)] = Field(default_factory=lambda: ["*"])
    """Paths of arguments, keys joined by full stops (`message.to`); `*` matches any text. Items of a list have the path
    of the list."""
    action: ToolAction

    def matches(self, tool: str, path: str) -> bool:
        """Return whether the rule applies to an argument."""
        return any(fnmatchcase(tool, each) for each in self.tools) and any(
            fnmatchcase(path, each) for each in self.arguments
        )


# Words in names of tools that send their arguments to other hosts or run them.
_TOOLS = """
    browse browser http https curl wget url web website page internet google bing shell bash exec execute terminal
    command computer webhook crawl scrape powershell ssh ping dns
"""
_NETWORK_TOOLS = frozenset(_TOOLS.split())
# Names of such tools that are ordinary words in the names of others (`fetch_customer`).
_NETWORK_NAMES = frozenset({"fetch", "search", "download", "navigate", "request", "open"})
# Words in names of arguments that choose another host or are run.
_ARGUMENTS = """
    url urls uri uris href link links src host hosts hostname domain endpoint webhook callback redirect proxy
    command commands cmd script
"""
_NETWORK_ARGUMENTS = frozenset(_ARGUMENTS.split())
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def default_action(tool: str | None, path: Sequence[str] | None) -> ToolAction:
    """Return the action without a rule.

    Args:
        tool: its name; None for a call without one, which no client can execute.
        path: keys of the argument; None: unreadable.
    """
    if path is None:
        return ToolAction.KEEP_TOKEN
    words = _words(tool or "")
    if words & _NETWORK_TOOLS or (len(words) == 1 and words <= _NETWORK_NAMES):
        return ToolAction.KEEP_TOKEN
    is_network = any(_words(step) & _NETWORK_ARGUMENTS for step in path)
    return ToolAction.KEEP_TOKEN if is_network else ToolAction.RESTORE


def action_for(rules: Sequence[ToolArgumentRule], tool: str | None, path: Sequence[str] | None) -> ToolAction:
    """Return the action for an argument; see `default_action`."""
    if path is not None:
        joined = ".".join(path)
        for rule in reversed(rules):
            if rule.matches(tool or "", joined):
                return rule.action
    return default_action(tool, path)


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name)}
