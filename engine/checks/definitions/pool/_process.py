"""State of a pool's unit, which checks of its process require."""

from __future__ import annotations

from ....facts.units import parse_units
from ...model.check import Judgement, failed, unknown
from ...model.probe_sections import ProbeSections


def unit_failure(sections: ProbeSections, unit: str) -> Judgement | None:
    """Return a failure if the unit does not run; None if it does."""
    (state,) = parse_units(sections.text("unit"))[:1]
    if state.active is None or state.main_pid is None:
        return unknown(f"the state of {unit}", "none")
    if not state.is_running or state.main_pid == 0:
        return failed(f"{unit} running", f"{state.load}, {state.active}, {state.sub}")
    return None
