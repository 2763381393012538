"""Records of evidence as rows and lines of the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sovctl.compliance.evidence.lookup import Summary
    from sovctl.compliance.evidence.store import StoredEvidence
    from sovctl.engine.checks.runner.rerun import Rerun

HEADINGS = ("ID", "STATE", "CHECK", "TARGET", "ENDED", "EXPIRES", "ENTRY", "RUN")
ID_DIGITS = 12
_MOST_NAMES = 12


def row(each: Summary) -> tuple[str, ...]:
    """Return the cells of a record under `HEADINGS`."""
    state = f"{each.state} ({each.verdict})" if each.state != each.verdict else each.state
    name, ended, expires = each.sha256[:ID_DIGITS], each.ended[:19], each.expires[:10]
    return (name, state, each.check, each.target, ended or "-", expires or "-", str(each.leaf_index), each.run)


def fields(found: StoredEvidence, *, raw_file: str, links: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield label and value of each field.

    Args:
        links: controls, waivers and items of the plan of action, which the record does not store.
    """
    each = found.evidence
    population, previous, clock, tool = each.population, each.previous, each.clock, each.tool
    offset = "not measured" if isinstance(clock.offset_us, str) else f"{clock.offset_us} us"
    yield "id", found.sha256
    yield "check", f"{each.check_id}, version {each.check_version}: {each.title}"
    yield "declaration", each.check_sha256
    yield "target", each.target
    yield "result", each.verdict.value + (" (simulated hardware)" if each.simulated else "")
    yield "reason", each.reason
    yield "rule", each.rule
    yield (
        "before",
        previous
        if isinstance(previous, str)
        else f"{previous.verdict.value}, run {previous.run_id}, entry {previous.leaf_index}, {previous.sha256}",
    )
    yield "method", each.method
    yield "command", each.command.rstrip()
    yield "exit code", "none: the command could not be run" if each.exit_code is None else str(each.exit_code)
    yield "raw output", raw_file
    yield "raw SHA-256", each.raw_sha256
    yield "started", each.started
    yield "ended", each.ended
    yield "expires", each.expires
    yield "clock", f"offset {offset} at {clock.measured}; source: {clock.source}"
    yield "population", f"{len(population.declared)} declared: {_names(population.declared)}"
    yield "query", population.query
    yield "sample", f"{len(population.sampled)} of {len(population.declared)}: {population.sample_rule}"
    yield "discovered", f"{len(population.discovered)}: {_names(population.discovered)}"
    yield "discovery", population.discovery
    yield "not discovered", _names(population.not_discovered)
    yield "not declared", _names(population.not_declared)
    yield "user", f"{each.actor.user}, account {each.actor.account}, host {each.actor.host}"
    yield (
        "tool",
        f"sovctl {tool.version}, RECORD {tool.record_sha256}"
        + (" (development install: without the code)" if tool.is_editable else ""),
    )
    yield "site.yaml", each.spec_sha256
    yield "plan", each.plan_sha256
    yield "apply run", each.apply_run
    yield "run", found.run_id
    yield "ledger entry", str(found.leaf_index)
    yield from links


def rerun_lines(found: Rerun) -> Iterator[str]:
    """Yield the old and the new result, and their difference."""
    old, new = found.old, found.new
    yield f"check       {old.check_id} on {old.target}"
    yield f"old         {old.verdict.value}, {old.ended}: {old.reason}"
    yield (
        f"new         {new.verdict.value}, {found.ended}: {new.reason}"
        if new
        else "new         none: site.yaml no longer declares the target"
    )
    yield f"population  {len(old.population.declared)} targets before, {len(found.declared)} now"
    if found.added:
        yield f"added       {_names(found.added)}"
    if found.removed:
        yield f"removed     {_names(found.removed)}"
    if not found.is_same_declaration:
        yield "declaration of the check: changed since the record"
    if not found.is_same_spec:
        yield "site.yaml: changed since the record"
    yield "difference  " + ("yes" if found.is_changed else "none")


def as_json(found: StoredEvidence, *, raw_file: str) -> dict[str, Any]:
    """Return all fields of a record, with its population."""
    return found.evidence.as_record() | {
        "id": found.sha256,
        "population": found.evidence.population.model_dump(mode="json"),
        "raw_file": raw_file,
        "run": found.run_id,
        "leaf_index": found.leaf_index,
    }


def _names(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return (", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")) or "none"
