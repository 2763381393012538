"""Expectation of the checks of management controllers that need no value of the site."""

from __future__ import annotations

from dataclasses import dataclass

from ....spec import Node
from ...model.check import Expectation
from ...model.check_context import CheckContext
from ...probes.own_board import OwnBoardCheck


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The same on every GPU server."""


class ControllerCheck(OwnBoardCheck[Expected]):
    """A subclass states the commands and judges their output."""

    def expected(self, site: CheckContext, node: Node) -> Expected:
        """Return the expectation of every GPU server."""
        return Expected()
