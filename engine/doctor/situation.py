"""Inputs of all measurements: the site description, its folders, the time, and the answers of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path

from sovctl.support.errors import Problem, SovctlError

from ..site.site import Site
from ..site.state_folder import SiteState
from ..validation.load import FileReference, file_problems
from .answers import Answers


@dataclass(frozen=True)
class Situation:
    """A site on its first days.

    Args:
        path: site.yaml, as the user wrote it.
        site: None if site.yaml is absent or invalid.
        error: the reason then.
        locks: folder of `sovctl lock`.
        trust: folder of `sovctl bundle root`.
        now: UTC.
        environ: environment of the controller.
        answers: of nodes and mirror; None if they were not contacted.
    """

    path: Path
    site: Site | None
    error: SovctlError | None
    state: SiteState
    locks: Path
    trust: Path
    now: datetime
    environ: Mapping[str, str] = field(repr=False)
    answers: Answers | None = None

    @property
    def opened(self) -> Site:
        """The site. Only items after `site-yaml` read it."""
        assert self.site is not None
        return self.site

    @cached_property
    def file_problems(self) -> list[tuple[FileReference, Problem]]:
        """Problems of the files that site.yaml names, as `sovctl plan` reports them."""
        return file_problems(self.opened.loaded, environ=self.environ)

    @property
    def is_lab(self) -> bool:
        """Whether `sovctl lab` provides nodes, keys and mirror of the site."""
        return self.site is not None and self.site.spec.access.network_namespace is not None
