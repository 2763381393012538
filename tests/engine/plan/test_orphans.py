"""What is taken out of site.yaml is taken off the nodes, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatch

from planned_nodes import planned
from strategies import context

from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.plan.build import changes
from sovctl.engine.resources import pool
from sovctl.engine.resources.context import Context
from sovctl.engine.resources.resource import Change, Verb


def without_pool(name: str) -> Context:
    """The bank without one of its pools."""
    site = context("bank-hybrid")
    assert site.spec.gateway is not None
    routes = [route for route in site.spec.gateway.routes if route.pool != name]
    spec = site.spec.model_copy(
        update={
            "pools": [each for each in site.spec.pools if each.name != name],
            "gateway": site.spec.gateway.model_copy(update={"routes": routes}),
        }
    )
    return replace(site, spec=spec, replicas=tuple(each for each in site.replicas if each.pool != name))


def deleted(made: list[Change]) -> dict[str, Change]:
    return {change.id: change for change in made if change.verb is Verb.DELETE}


def test_a_pool_taken_out_is_deleted_wherever_it_runs_with_all_its_files() -> None:
    facts = planned("bank-hybrid")[0]
    gone = deleted(changes(without_pool("triage"), facts))
    assert {change.split("/")[0] for change in gone} == {"l40s-1", "l40s-2"}
    names = {change.split("/")[2] for change in gone}
    assert names == {"triage", "triage.1", "triage.2", "triage.3"}
    for change in gone.values():
        files = (change.before or {})["files"]
        assert len(files) == 5
        assert files[-1] == f"/etc/systemd/system/sovctl-pool-{change.name}.service"
        assert change.after is None
        assert change.risk.value == "stops a pool"


def test_what_must_go_goes_before_what_comes() -> None:
    made = changes(without_pool("triage"), planned("bank-hybrid")[0])
    pools = [change for change in made if change.node == "l40s-1" and change.kind == "pool"]
    verbs = [change.verb for change in pools]
    assert verbs == sorted(verbs, key=lambda verb: verb is not Verb.DELETE)


def test_a_removal_that_was_cut_off_is_still_planned_by_its_last_file() -> None:
    facts = planned("bank-hybrid")[0]
    last = "/etc/systemd/system/sovctl-pool-triage.service"
    node = next(name for name, each in facts.items() if last in each.files)
    ours = {path for path in facts[node].files if "triage" in path and path != last}
    half = replace(facts[node], files={path: value for path, value in facts[node].files.items() if path not in ours})
    gone = deleted(changes(without_pool("triage"), {**facts, node: half}))
    assert (gone[f"{node}/pool/triage"].before or {}) == {"files": [last]}


def test_the_former_files_of_probes_are_removed() -> None:
    facts = planned("lab")[0]
    former = [
        "/etc/systemd/system/sovctl-canary-chat.timer",
        "/etc/systemd/system/sovctl-canary-chat.service",
        "/etc/sovctl/pools/chat.canary.json",
        "/usr/local/lib/sovctl/canary",
    ]
    entry = {"sha256": "ab" * 32, "mtime_ns": 0}
    node = replace(facts["n1"], files={**facts["n1"].files, **dict.fromkeys(former, entry)})
    made = changes(context("lab"), {**facts, "n1": node})
    assert [change.id for change in made] == ["n1/pool/former.probe"]
    assert made[0].verb is Verb.DELETE
    assert (made[0].before or {}) == {"files": former}
    desired = next(pool.RESOURCE_TYPE.expect(context("lab"), context("lab").spec.node("n1"), node))
    assert desired.variables["units"] == ["sovctl-canary-chat.timer", "sovctl-canary-chat.service"]
    query = pool.RESOURCE_TYPE.query(context("lab"), context("lab").spec.node("n1"))
    assert all(any(fnmatch(path, pattern) for pattern in query.hash) for path in former)


def test_the_old_name_of_a_canary_is_no_pool_of_ours_and_goes() -> None:
    facts = planned("lab")[0]
    old = "/etc/systemd/system/sovctl-pool-chat-canary.service"
    node = replace(facts["n1"], files={**facts["n1"].files, old: {"sha256": "ab" * 32, "mtime_ns": 0}})
    gone = deleted(changes(context("lab"), {**facts, "n1": node}))
    assert list(gone) == ["n1/pool/chat-canary"]


def test_pools_and_replicas_never_share_a_name_on_a_node() -> None:
    for preset in ("lab", "bank-hybrid", "closed-perimeter", "superpod-b200"):
        site = context(preset)
        for _, node in site.spec.nodes():
            names = [pool.instance(each) for each in site.replicas_on(node)]
            assert len(set(names)) == len(names)
            pools = {each.name for each in site.spec.pools}
            assert all(name.partition(".")[0] in pools for name in names)


def without_gateway() -> Context:
    site = context("lab")
    return replace(site, spec=site.spec.model_copy(update={"gateway": None}))


def test_a_gateway_taken_out_goes_with_its_secrets_and_keeps_its_data() -> None:
    facts = planned("lab")[0]
    gone = deleted(changes(without_gateway(), facts))
    here = {change.split("/", 1)[1] for change in gone if change.startswith("s1/")}
    assert "gateway/gateway" in here
    secrets = {"gateway-clients.json", "token.key", "vault.kek", "gateway-ledger.key", "cloud-sovereign-cloud.key"}
    assert {f"credential/{name}" for name in secrets} <= here
    assert "stay" in gone["s1/gateway/gateway"].why
    paths = {path for change in gone.values() for path in (change.before or {}).get("files", ())}
    assert not any(path.startswith("/var/lib/sovctl") for path in paths)


def test_a_secret_nobody_uses_is_deleted_and_restarts_nothing() -> None:
    facts = planned("lab")[0]
    stray = "/etc/sovctl/secrets/cloud-former.key"
    node: NodeFacts = replace(facts["s1"], files={**facts["s1"].files, stray: {"sha256": "ab" * 32, "mtime_ns": 0}})
    made = changes(context("lab"), {**facts, "s1": node})
    assert [change.id for change in made] == ["s1/credential/cloud-former.key"]
    assert made[0].verb is Verb.DELETE
