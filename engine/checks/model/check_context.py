"""The input of `Check.expect`: the site's specification, the catalogue, the controller's paths and the date.

Plain values only; no node is contacted. `Context` is the same view of the site that the plan uses, so `verify` expects
exactly what `apply` configures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from ...evaluation.marks import Evaluation
from ...fabric.cabling import PlannedLink
from ...facts.benchmarks.golden_tokens import GoldenRecord
from ...facts.counters import CounterReading
from ...resources.context import Context

CONTROLLER = "site"
"""Name of the controller in targets, where a node's name is otherwise."""


@dataclass(frozen=True)
class Controller:
    """The site's files on this machine; absolute paths.

    Args:
        program: the running `sovctl`.
        site_file: the site.yaml that is checked.
        state: the site's state folder.
        ledger: folder of the site's ledger.
        private_files: files that must exist and be private: the ssh key, and secret files named in site.yaml.
        private_patterns: (folder, glob) of further private files.
        root_certificate: certificate of the site's authority.
    """

    program: str
    site_file: str
    state: str
    ledger: str
    private_files: tuple[str, ...]
    private_patterns: tuple[tuple[str, str], ...]
    root_certificate: str


@dataclass(frozen=True)
class PoolEvaluations:
    """Evaluations of a pool.

    Args:
        questions_sha256: digest of `questions_file`; None if it is unreadable.
        marks: recorded evaluations, the oldest first.
    """

    questions_sha256: str | None
    marks: tuple[Evaluation, ...]


@dataclass(frozen=True)
class CheckContext:
    """A site on one day.

    Args:
        today: UTC; compared with the last day of perimeter exceptions and of the root certificate.
        cabling: links of `fabric.cabling_file`; empty without one.
        readings: counters of earlier runs by node and check id.
        golden: recorded tokens by name of the pool.
        evaluations: of the pools with `evaluation`, by name.
    """

    context: Context
    controller: Controller
    today: date
    cabling: tuple[PlannedLink, ...] = ()
    readings: Mapping[tuple[str, str], CounterReading] = field(default_factory=dict)
    golden: Mapping[str, GoldenRecord] = field(default_factory=dict)
    evaluations: Mapping[str, PoolEvaluations] = field(default_factory=dict)
