"""The interface of finders that call a model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from ..detect.findings.finding import Finding
from ..domain.entities import EntityType
from ..inspection.inspector import Inspection

OF_THE_REQUEST = frozenset({"deadline", "too-long"})
"""Causes that depend on the request only; the finder itself may work."""


class ModelFinderFailed(Exception):
    """A finder failed. The message is a code: `busy`, `timeout`, or the name of an error."""


class ModelFinder(Protocol):
    """A finder that calls a model."""

    @property
    def name(self) -> str:
        """Name in audit records."""

    @property
    def rule(self) -> str:
        """The rule that its findings carry."""

    @property
    def entity_types(self) -> Collection[EntityType]:
        """Entity types of its findings."""

    def concerns(self, inspection: Inspection) -> bool:
        """Return whether the finder supports such a request."""

    def wants(self, text: str, found: Sequence[Finding]) -> bool:
        """Return whether a text is to be sent to the finder.

        Args:
            found: what is known in it, sorted, none overlapping.
        """

    async def find(self, texts: Sequence[str], *, tenant: str) -> Mapping[str, list[Finding]]:
        """Return the findings by text; texts without findings may be omitted.

        Args:
            tenant: whose texts they are.

        Raises:
            ModelFinderFailed: the texts could not be scanned.
        """
