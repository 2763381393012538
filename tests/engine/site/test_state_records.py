"""Plans, gathers and waivers are in the ledger before their files exist, and an edited file is found and named."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from example_sites import example
from strategies import EXAMPLES

from sovctl.compliance.audit.site import audit
from sovctl.compliance.ledger import pending
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import load_or_create
from sovctl.engine.gather import captures, gather
from sovctl.engine.site import state_records
from sovctl.engine.site.site import Site
from sovctl.support.errors import SovctlError

FACTS = EXAMPLES / "bank-hybrid" / "facts"
DAY = date(2026, 11, 28)
WAIVERS: dict[str, list[dict[str, Any]]] = {
    "waivers": [
        {"id": "W-1", "reason": "vendor case of A. Example", "approved": "2026-11-01", "expires": "2026-12-01"}
    ],
    "perimeter": [{"name": "cloud", "expires": "2027-01-31"}],
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site of which all nodes but one answer."""
    made = example("bank-hybrid", tmp_path / "site")
    found = captures.load(FACTS, [node.name for _, node in made.spec.nodes()])
    del found["l40s-2"]
    failures = {"l40s-2": ("unreachable", "no answer")}
    monkeypatch.setattr(gather, "gather", lambda *_, **__: gather.Gathered(dict(found), failures))
    return made


def planned(site: Site, **options: Any) -> None:
    context = site.context()
    facts, unknown = site.observe_reachable(context, report=lambda _: None)
    site.save_plan(site.plan(context, facts, unknown=unknown), **options)


def records(site: Site, kind: str) -> list[dict[str, Any]]:
    return [each.record for each in LedgerReader(site.state.ledger).entries() if each.record["type"] == kind]


def findings(site: Site) -> list[str]:
    return [f"{each.file}: {each.message}" for each in audit(site.state.root).findings]


def test_a_plan_and_its_gather_are_recorded(site: Site) -> None:
    planned(site)
    [gathered], [plan] = records(site, "gather"), records(site, "plan")
    assert gathered["unreachable"] == ["l40s-2"]
    assert "facts/dgx-1.json" in gathered["state_files"]
    saved = site.saved_plan()
    assert (plan["plan_sha256"], plan["changes"], plan["unknown"]) == (
        saved.sha256,
        len(saved.changes),
        len(saved.unknown),
    )
    assert plan["site_yaml_sha256"] == site.loaded.text_sha256
    assert findings(site) == []


@pytest.mark.parametrize("name", ["plans/plan.json", "facts/dgx-1.json"])
def test_an_edited_and_a_deleted_file_are_named(site: Site, name: str) -> None:
    planned(site)
    path = site.state.root / name
    path.write_bytes(path.read_bytes().replace(b"dgx-1", b"dgx-9", 1))
    assert [each.startswith(f"{name}: {name} differs from ledger entry") for each in findings(site)] == [True]
    path.unlink()
    assert [each.startswith(f"{name}: {name} is missing") for each in findings(site)] == [True]


def test_an_earlier_plan_is_a_note_and_a_plan_saved_elsewhere_replaces_nothing(site: Site, tmp_path: Path) -> None:
    planned(site)
    first = site.state.plan_file.read_bytes()
    planned(site, out=tmp_path / "copy.json", no_save=True)
    assert site.state.plan_file.read_bytes() == first
    assert (tmp_path / "copy.json").is_file()
    assert [bool(each["state_files"]) for each in records(site, "plan")] == [True, False]
    later = json.loads(first) | {"note": "later"}
    content = json.dumps(later).encode()
    site.record([{"type": "plan", "state_files": {"plans/plan.json": state_records.sha256_hex(content)}}])
    result = audit(site.state.root)
    assert result.findings == []
    assert any("an earlier file was restored" in each for each in result.notes)


def test_nothing_is_saved_if_the_ledger_cannot_be_written(site: Site) -> None:
    planned(site)
    facts, plan = (site.state.facts / "dgx-1.json").stat().st_mtime_ns, site.state.plan_file.read_bytes()
    (site.state.ledger / "entries").write_bytes(b"")
    with pytest.raises(SovctlError) as raised:
        planned(site)
    assert raised.value.hint
    assert (site.state.facts / "dgx-1.json").stat().st_mtime_ns == facts
    assert site.state.plan_file.read_bytes() == plan


def test_records_beside_a_writer_are_left_for_it_in_order_of_time(site: Site) -> None:
    planned(site)
    key = load_or_create(site.state.keys / "ledger.key")
    with Ledger.open(site.state.ledger, origin=f"sovctl.{site.spec.site.name}/site", key=key) as ledger:
        planned(site)
        assert pending.count(site.state.ledger) == 2
        result = audit(site.state.root)
        assert result.findings == []
        ledger.append([{"type": "node-event"}])
    types = [each.record["type"] for each in LedgerReader(site.state.ledger).entries()]
    assert types == ["gather", "plan", "gather", "plan", "node-event"]
    assert findings(site) == []


def test_the_facts_of_a_removed_node_are_not_expected(site: Site) -> None:
    planned(site)
    key = load_or_create(site.state.keys / "ledger.key")
    with Ledger.open(site.state.ledger, origin=f"sovctl.{site.spec.site.name}/site", key=key) as ledger:
        ledger.append([{"type": "node-removed", "node": "dgx-1"}])
    (site.state.facts / "dgx-1.json").unlink()
    assert findings(site) == []


def test_a_gather_of_many_nodes_fits_the_records_of_the_ledger() -> None:
    names = [f"{number:04}-{'n' * 58}" for number in range(1024)]
    found = list(state_records.gather_records("bank", dict.fromkeys(names[:600], b"{}"), names[600:]))
    assert [len(each["state_files"]) + len(each["unreachable"]) for each in found] == [256] * 4
    assert max(len(json.dumps(each)) for each in found) < 65_535


@pytest.fixture
def recorded(site: Site) -> Callable[..., list[dict[str, Any]]]:
    """Return a function that records waivers, and returns all records of waivers."""

    def record(waivers: dict[str, list[dict[str, Any]]], day: date = DAY) -> list[dict[str, Any]]:
        state_records.record_waivers(site.record, site.state, "bank", waivers, day=day)
        return records(site, "waivers") if site.state.ledger.exists() else []

    return record


def test_waivers_are_recorded_once_and_when_one_expires(site: Site, recorded: Callable[..., Any]) -> None:
    assert recorded({"waivers": []}) == []
    assert len(recorded(WAIVERS)) == 1
    assert len(recorded(WAIVERS)) == 1
    found = recorded(WAIVERS, date(2026, 12, 2))
    assert [each["in_effect"] for each in found] == [{"waivers": 1, "perimeter": 1}, {"waivers": 0, "perimeter": 1}]
    assert len(recorded({})) == 3
    assert "Example" not in json.dumps(found)
    assert findings(site) == []


def test_an_edited_waiver_is_named(site: Site, recorded: Callable[..., Any]) -> None:
    recorded(WAIVERS)
    path = site.state.waivers / "site.json"
    path.write_bytes(path.read_bytes().replace(b"2026-12-01", b"2026-12-31"))
    assert [each.startswith("waivers/site.json: ") for each in findings(site)] == [True]


def test_the_waivers_of_site_yaml_have_an_end(site: Site) -> None:
    assert all("expires" in each for found in state_records.waivers_of_site(site.spec).values() for each in found)
