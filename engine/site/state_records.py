"""Records in the site's ledger about plans, gathers of facts, and waivers; appended before their files are written.

- A record has digests, counts, names of nodes and the operator. It has no reason and no other name of a waiver.
- A command that cannot write the ledger fails before it changes a file.
- If another process writes the ledger, the record is left for it; see `compliance/ledger/pending.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from sovctl.compliance.ledger import pending, state_files
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import load_or_create
from sovctl.support.atomic_files import write_atomic
from sovctl.support.canonical_json import canonical_json, sha256_hex
from sovctl.support.errors import Busy
from sovctl.support.operator_name import operator_name

from ..plan.file import Plan
from ..spec import SiteSpec
from .state_folder import SiteState

Append = Callable[[Sequence[Mapping[str, Any]]], object]
"""Appends records to the site's ledger."""
WaiverSet = Mapping[str, Sequence[Mapping[str, Any]]]
"""Waivers, attestations, looser limits and perimeter exceptions as plain values, by section."""
_BEGINS = {"waivers": "approved", "attestations": "attested"}
"""Field with the first day of effect, by section; the others are in effect from the first load of site.yaml."""


def appender(state: SiteState, site: str) -> Append:
    """Return a function that appends to the ledger of a site, and creates the ledger if absent.

    The function raises:
        LedgerDamaged, LedgerUnwritable: nothing was recorded.
        InputError: the ledger has another name or key, or a record cannot be left for its writer.
    """

    def append(records: Sequence[Mapping[str, Any]]) -> None:
        key = load_or_create(state.prepare().keys / "ledger.key")
        try:
            with Ledger.open(state.ledger, origin=f"sovctl.{site}/site", key=key) as ledger:
                ledger.append(records)
        except Busy:
            for record in records:
                pending.leave(state.ledger, record)

    return append


def plan_record(plan: Plan, *, site_yaml_sha256: str, saved: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the record of a plan.

    Args:
        site_yaml_sha256: SHA-256 of the bytes of site.yaml.
        saved: content of the plan file by its path relative to the state folder; empty if it is saved elsewhere.
    """
    return {
        **_head(state_files.PLAN),
        "site": plan.site,
        "plan_sha256": plan.sha256,
        "site_yaml_sha256": site_yaml_sha256,
        "spec_sha256": plan.spec_sha256,
        "changes": len(plan.changes),
        "refusals": len(plan.refusals),
        "nodes": len(plan.facts_sha256),
        "unknown": len(plan.unknown),
        "simulated": plan.simulated,
        state_files.FIELD: state_files.digests(saved),
    }


def gather_records(site: str, captures: Mapping[str, bytes], unreachable: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield the records of a gather, each with at most `MAX_FILES` nodes, sorted by name.

    Args:
        captures: content of the capture file by node.
        unreachable: names of the nodes without a capture.
    """
    head = _head(state_files.GATHER) | {"site": site}
    for names in state_files.chunks(sorted({*captures, *unreachable})):
        files = {f"facts/{name}.json": captures[name] for name in names if name in captures}
        missing = [name for name in names if name not in captures]
        yield {**head, state_files.FIELD: state_files.digests(files), "unreachable": missing}


def waivers_of_site(spec: SiteSpec) -> WaiverSet:
    """Return the accepted deviations of a site.yaml, in and out of effect."""
    compliance = spec.compliance.model_dump(mode="json", include=set(_BEGINS))
    return {
        **compliance,
        "limits": [each.model_dump(mode="json") for each in spec.verify.waivers],
        "perimeter": [each.model_dump(mode="json") for each in spec.perimeter.exceptions],
    }


def in_effect(waivers: WaiverSet, day: date) -> dict[str, list[Mapping[str, Any]]]:
    """Return the waivers that count on a day, first and last day included."""
    return {
        section: [each for each in found if str(each.get(_BEGINS.get(section, ""), "")) <= str(day) <= each["expires"]]
        for section, found in waivers.items()
    }


def record_waivers(
    append: Append, state: SiteState, site: str, waivers: WaiverSet, *, day: date, source: str = "site"
) -> None:
    """Record the waivers in effect and store them as `waivers/<source>.json`, unless they equal the stored ones.

    Args:
        source: `site` for site.yaml, `file` for `sovctl report --waivers`.
    """
    found = in_effect(waivers, day)
    content, path = canonical_json(found) + b"\n", state.waivers / f"{source}.json"
    if not any(found.values()) and not path.exists():
        return
    if path.exists() and path.read_bytes() == content:
        return
    record = {
        **_head(state_files.WAIVERS),
        "site": site,
        "source": source,
        "waivers_sha256": sha256_hex(content),
        "in_effect": {section: len(each) for section, each in found.items()},
        state_files.FIELD: state_files.digests({f"waivers/{path.name}": content}),
    }
    append([record])
    write_atomic(path, content, mode=0o600)


def _head(kind: str) -> dict[str, Any]:
    return {"type": kind, "time": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "operator": operator_name()}
