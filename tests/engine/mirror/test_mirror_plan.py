"""Plan of a site with mirror nodes: contents, server, sources of other nodes, firewall, waves, and refusals."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from mirror_site import add_snapshot, mirror_site, write_site
from planned_nodes import empty

from sovctl.engine.plan.build import changes, context_of, desired_on
from sovctl.engine.plan.waves import waves
from sovctl.engine.resources.context import Context
from sovctl.engine.resources.perimeter import rules_for
from sovctl.engine.resources.resource import Desired
from sovctl.engine.site.site import Site
from sovctl.engine.validation.load import load
from sovctl.support.errors import InputError, SpecError


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return mirror_site(tmp_path)


def wanted(context: Context, node: str) -> dict[str, Desired]:
    return {each.kind: each for each in desired_on(context, context.nodes[node], empty(node))}


def test_each_mirror_serves_the_selected_snapshot(site: Site) -> None:
    context = site.context()
    assert context.snapshot is not None
    for name in ("s1", "s2"):
        found = wanted(context, name)
        assert found["mirror_snapshot"].state == {"snapshot_manifest_sha256": context.snapshot.manifest_sha256}
        assert "lab-1" in found["mirror_snapshot"].why
        assert found["site_mirror"].variables["clients"] == ["10.77.0.11", "10.77.0.21", "10.77.0.22"]
        assert found["repository"].variables["url"] == "file:///srv/sovctl/mirror/snapshots/lab-1/apt/debian-12-amd64"
    assert not {"mirror_snapshot", "site_mirror"} & wanted(context, "n1").keys()


def test_other_nodes_name_both_mirrors_and_the_snapshot(site: Site) -> None:
    found = wanted(site.context(), "n1")["repository"]
    ends = "snapshots/lab-1/apt/debian-12-amd64"
    assert found.variables["urls"] == [f"https://10.77.0.21:8444/{ends}", f"https://10.77.0.22:8444/{ends}"]
    assert found.variables["url"] == "mirror+file:/etc/apt/sovctl-mirrors.txt"
    assert found.variables["ca_file"] == "/etc/ssl/sovctl-mirror-ca.pem"


def test_another_selection_changes_mirrors_and_nodes(site: Site) -> None:
    before = {name: wanted(site.context(), name) for name in ("n1", "s1")}
    add_snapshot(site.folder / "store", "lab-2", {"wheels/index.html": b"other"})
    after = {name: wanted(site.context(), name) for name in ("n1", "s1")}
    assert before["s1"]["mirror_snapshot"].state != after["s1"]["mirror_snapshot"].state
    for name in ("n1", "s1"):
        assert before[name]["repository"].state != after[name]["repository"].state


def test_only_nodes_reach_the_mirror(site: Site) -> None:
    context = site.context()
    inbound = rules_for(context, context.nodes["s1"]).inbound
    assert [rule for rule in inbound if "8444" in rule] == [
        "ip saddr 10.77.0.11 tcp dport 8444 accept",
        "ip saddr 10.77.0.22 tcp dport 8444 accept",
    ]
    outbound = rules_for(context, context.nodes["n1"]).outbound
    assert "ip daddr 10.77.0.21 tcp dport 8444 accept" in outbound
    assert "ip daddr 10.77.0.22 tcp dport 8444 accept" in outbound
    assert not [rule for rule in rules_for(context, context.nodes["n1"]).inbound if "8444" in rule]


def test_mirrors_change_first_one_after_the_other(site: Site) -> None:
    context = site.context()
    facts = {name: empty(name) for name in context.nodes}
    assert [wave.nodes for wave in waves(context, changes(context, facts), ())] == [("s1",), ("s2",), ("n1",)]


def test_a_plan_without_a_selected_snapshot_is_refused(tmp_path: Path) -> None:
    site = Site.open(write_site(tmp_path), touches_nodes=False)
    context = context_of(site.spec, site.folder)
    with pytest.raises(InputError, match="no snapshot is selected"):
        wanted(context, "n1")
    add_snapshot(tmp_path / "store", "lab-1", {"a": b"a"})
    shutil.rmtree(tmp_path / "store/mirror/lab-1")
    with pytest.raises(InputError, match="damaged"):
        context_of(site.spec, site.folder)


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("nodes: [s1, s2]", "nodes: [s1, s1]", "mirror.nodes[1]"),
        ("nodes: [s1, s2]", "nodes: [s1, s9]", "mirror.nodes[1]"),
        ("nodes: [s1, s2]", "nodes: [s2, s1]", "artifacts.apt_url"),
        ("platform: service", "platform: dgx-h100", "mirror.nodes[0]"),
        ("https://10.77.0.21:8444/current/wheels", "http://10.77.0.21:8444/current/wheels", "artifacts.wheels_url"),
        ("store: store}", "store: store, port: 80}", "mirror.port"),
    ],
)
def test_a_mirror_that_cannot_work_is_refused(tmp_path: Path, old: str, new: str, where: str) -> None:
    path = write_site(tmp_path)
    assert load(path).spec.mirror is not None
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(SpecError) as caught:
        load(path)
    assert any(where in str(each) for each in caught.value.problems)
