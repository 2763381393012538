"""Compute ports of a node: storage ports and NVSwitch management never count, and missing addresses are UNKNOWN."""

from __future__ import annotations

from dataclasses import replace

import pytest
from check_cases.case import answer
from check_cases.ib import FREE, NAMED, SLOTS, STORAGE, adapter, sysfs
from check_sites import check_context

from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.model.check import Judgement, judge
from sovctl.engine.checks.probes.compute_ports import Expected, expected_ports
from sovctl.engine.checks.registry import BY_ID
from sovctl.engine.spec.fabric import RoceNetwork

SWITCH = "".join(adapter(f"mlx5_{index}", f"0000:0{index - 7}:00.0", vpd_model="SW_MNG") for index in (8, 9, 10, 11))


def judged(expected: Expected, more: str) -> Judgement:
    return judge(BY_ID["ib.ports-active"], answer(sysfs(more=more)), expected)


@pytest.mark.parametrize("expected", [FREE, NAMED], ids=["count", "addresses"])
def test_the_adapters_of_nvswitch_boards_are_not_compute_ports(expected: Expected) -> None:
    assert judged(expected, SWITCH).verdict is Verdict.PASS


def test_storage_ports_do_not_count_if_their_role_is_known() -> None:
    assert judged(FREE, STORAGE).verdict is Verdict.UNKNOWN
    assert "node_groups[].ports" in judged(FREE, STORAGE).reason
    assert judged(replace(FREE, others=frozenset({"0000:aa:00.0"})), STORAGE).verdict is Verdict.PASS
    assert judged(NAMED, STORAGE).verdict is Verdict.PASS


def test_an_adapter_without_an_address_is_unknown_if_addresses_have_roles() -> None:
    assert judged(NAMED, adapter("mlx5_8", "device")).verdict is Verdict.UNKNOWN
    assert judged(FREE, adapter("mlx5_8", "device", vpd_model="SW_MNG")).verdict is Verdict.PASS


def test_a_compute_port_in_ethernet_mode_fails() -> None:
    output = answer(sysfs(link_layer="Ethernet"))
    assert judge(BY_ID["ib.ports-active"], output, NAMED).verdict is Verdict.FAIL


def test_with_roce_the_compute_ports_are_ethernet_and_have_no_subnet_manager() -> None:
    ethernet, infiniband = replace(NAMED, link_layer="Ethernet"), answer(sysfs())
    output = answer({**sysfs(), "tree": sysfs()["tree"].replace("InfiniBand", "Ethernet")})
    assert judge(BY_ID["ib.ports-active"], output, ethernet).verdict is Verdict.PASS
    assert judge(BY_ID["ib.ports-active"], infiniband, ethernet).verdict is Verdict.FAIL
    site = check_context("bank-hybrid")
    spec = site.context.spec.model_copy(update={"roce": RoceNetwork(), "fabric": None})
    changed = replace(site, context=replace(site.context, spec=spec))
    node = spec.node("dgx-1")
    assert list(BY_ID["ib.subnet-manager-known"].expect(site, node))
    assert not list(BY_ID["ib.subnet-manager-known"].expect(changed, node))
    assert len(list(BY_ID["roce.mtu"].expect(changed, node))) == 1


def test_dgx_h100_has_eight_compute_addresses() -> None:
    site = check_context("bank-hybrid")
    node = site.context.spec.node("dgx-1")
    found = expected_ports(site, node)
    assert (found.ports, len(found.compute), "0000:dc:00.0" in found.compute) == (8, 8, True)
    assert len(SLOTS) == 8
