"""Expectation and probe of the checks of a vLLM server's process: its arguments and its environment."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from ....catalog.engines import ENGINES
from ....catalog.engines.vllm import VLLM
from ....facts.processes import parse_processes, probe_command
from ....facts.unreadable import excerpt
from ....resources.serving.closed import flags_by_name
from ....resources.serving.command_line import given_flags
from ....spec import Node
from ...model.check import Judgement, failed, unknown
from ...model.check_context import CheckContext
from ...model.probe_sections import ProbeSections
from ...probes.commands import show_units
from ._process import unit_failure
from ._replicas import Expected, replicas_on


def vllm_on(site: CheckContext, node: Node) -> Iterator[Expected]:
    """Yield every serving replica of vLLM with a rank on the node."""
    yield from (each for each in replicas_on(site, node) if is_vllm(each))


def is_vllm(expected: Expected) -> bool:
    """Return whether the server is vLLM; the tables are about its releases."""
    return ENGINES[expected.engine_name].environment == VLLM.environment


def commands(expected: Expected) -> dict[str, str]:
    """Return the commands that print the unit and its process."""
    return {"unit": show_units(expected.unit), "process": shlex.join(probe_command([expected.unit]))}


def process_of(sections: ProbeSections, expected: Expected) -> tuple[Mapping[str, str], Mapping[str, str]] | Judgement:
    """Return flags and variables of the process by name, or a failure if it does not run."""
    if failure := unit_failure(sections, expected.unit):
        return failure
    process = parse_processes(sections.text("process")).get(expected.unit)
    if process is None:
        return unknown(f"a process of {expected.unit}", "none")
    given = given_flags(process.argv, ENGINES[expected.engine_name])
    if given is None:
        return failed("`vllm serve` as the unit's process", excerpt(" ".join(process.argv)))
    return flags_by_name(given), process.environment
