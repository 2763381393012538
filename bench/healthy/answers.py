"""Answers of a healthy node to every check.

Hardware checks read the output of `outputs` with what site.yaml and the catalogue expect of the platform. The others
read the good answer of `tests/engine/checks/check_cases` with its expectation, varied by `noise`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from sovctl.engine.catalog.platforms import Platform
from sovctl.engine.checks.model.check import Check, Expectation
from sovctl.engine.checks.model.check_context import CheckContext
from sovctl.engine.checks.model.probe import CommandOutput
from sovctl.engine.checks.registry import BY_ID, CHECKS

from .board import healthy_board
from .noise import varied
from .outputs import output_of, outputs

TESTS = Path(__file__).resolve().parents[2] / "tests"
sys.path[:0] = [str(each) for each in (TESTS, TESTS / "engine", TESTS / "engine/checks")]

from check_samples import SAMPLES  # type: ignore[import-not-found]  # noqa: E402
from check_sites import check_context  # type: ignore[import-not-found]  # noqa: E402

HARDWARE = ("gpu", "vram", "bus", "driver", "nvlink", "xid", "ib", "node")
"""Topics whose checks read the simulated board."""
_OF_THE_SITE = ("uniform", "fabric", "site", "plan")
_NODE, _PLATFORM = "n1", "dgx-h100"  # of the example `lab`


@dataclass(frozen=True)
class Target:
    """A check and its expectation.

    Args:
        keys: key of the recorded output by name of the command: the command of a hardware check, which several checks
            share, else check and name.
    """

    check: Check[Any]
    expectation: Expectation
    keys: Mapping[str, str]

    def of(self, recorded: Mapping[str, CommandOutput]) -> dict[str, CommandOutput]:
        """Return the output of each command by name."""
        return {name: recorded[key] for name, key in self.keys.items()}


def platforms() -> dict[str, Platform]:
    """Return the platforms with GPUs and a profile in the catalogue, by id."""
    return {
        name: each for name, each in _context().context.platforms.items() if each.has_gpus and each.profile is not None
    }


@cache
def targets(platform: str) -> tuple[Target, ...]:
    """Return each check of a node of the platform once; without those that compare nodes, or read the whole site."""
    site, board = _site(platform), healthy_board(platforms()[platform], "any", random.Random(0))
    known = outputs(board, random.Random(0))
    found = [
        Target(check, expectation, check.probe(expectation).commands)
        for check in CHECKS
        if check.id.partition(".")[0] in HARDWARE
        for expectation in check.expect(site, site.context.nodes[_NODE])
    ]
    simulated = [each for each in found if all(output_of(key, known, board) for key in each.keys.values())]
    # Hardware checks that apply to no node of this platform are not among the others.
    applied, done = {each.check.id for each in found}, {each.check.id for each in simulated}
    return (
        *simulated,
        *(
            Target(BY_ID[check_id], sample.expectation, {name: f"{check_id} {name}" for name in sample.good})
            for check_id, sample in SAMPLES.items()
            if check_id not in done
            and check_id.partition(".")[0] not in _OF_THE_SITE
            and (check_id in applied or check_id.partition(".")[0] not in HARDWARE)
        ),
    )


def recorded(platform: Platform, name: str, source: random.Random) -> dict[str, CommandOutput]:
    """Return the outputs of one healthy node, by key of `Target`."""
    board = healthy_board(platform, name, source)
    known = outputs(board, source)
    found = {}
    for target in targets(platform.id):
        for part, key in target.keys.items():
            text = output_of(key, known, board)
            found[key] = _good(target.check.id, part, source) if text is None else CommandOutput(0, text, "")
    return found


def _good(check_id: str, name: str, source: random.Random) -> CommandOutput:
    part = SAMPLES[check_id].good[name]
    code, text = part if isinstance(part, tuple) else (0, part)
    return CommandOutput(code, varied(check_id, text, source), "")


@cache
def _context() -> CheckContext:
    found: CheckContext = check_context("lab")
    return found


@cache
def _site(platform: str) -> CheckContext:
    """Return the example `lab` with another platform for its GPU nodes."""
    site = _context()
    others = {**site.context.platforms, _PLATFORM: site.context.platforms[platform]}
    return replace(site, context=replace(site.context, platforms=others))
