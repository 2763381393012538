"""What is expected follows from site.yaml and the catalogue, and from nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest
from check_sites import TODAY, estate

from sovctl.engine.certificate_authority import LEAF_DAYS
from sovctl.engine.checks.definitions.gpu import GpuExpectation
from sovctl.engine.checks.definitions.nvlink import FabricExpectation, LinkExpectation
from sovctl.engine.checks.definitions.perimeter import Endpoint, ExceptionExpectation, NoWayOutExpectation
from sovctl.engine.checks.definitions.pool import PoolExpectation
from sovctl.engine.checks.definitions.registry import CHECKS, KNOWN_CHECKS
from sovctl.engine.checks.definitions.site import AuthorityExpectation
from sovctl.engine.checks.model.check_context import Estate
from sovctl.engine.checks.runner.targets import all_cases, choose, populations

CLOUD = Endpoint("10.88.0.2", 443)


def found(of: Estate, check_id: str, target: str) -> object:
    (case,) = [each for each in all_cases(of) if (each.check.id, each.target) == (check_id, target)]
    return case.expectation


def targets(of: Estate, check_id: str) -> list[str]:
    return populations(all_cases(of)).get(check_id, [])


def test_ids_versions_titles_and_controls_are_in_order() -> None:
    assert len(KNOWN_CHECKS) == len(CHECKS)
    for check in CHECKS:
        assert check.version >= 1
        assert check.title == check.title.strip()
        assert check.controls == tuple(sorted(check.controls))
        assert check.controls


@pytest.mark.parametrize("name", ["lab", "bank-hybrid", "closed-perimeter", "superpod-b200"])
def test_every_case_of_every_example_is_unique_and_has_a_probe(name: str) -> None:
    cases = all_cases(estate(name))
    assert len({case.id for case in cases}) == len(cases)
    assert len({(case.check.id, case.target) for case in cases}) == len(cases)
    for case in cases:
        probe = case.check.probe(case.expectation)
        assert probe.command
        assert probe.timeout_s > 0


def test_the_root_is_wanted_a_year_longer_than_what_it_issues(lab_estate: Estate) -> None:
    assert targets(lab_estate, "site.root-certificate-lasts") == ["site"]
    expectation = found(lab_estate, "site.root-certificate-lasts", "site")
    assert expectation == AuthorityExpectation(
        file="/s/pki/ca.pem",
        needed_until=TODAY + timedelta(days=LEAF_DAYS),
        wanted_until=TODAY + timedelta(days=LEAF_DAYS + 365),
    )


def test_gpu_checks_look_at_gpu_nodes_alone(lab_estate: Estate) -> None:
    assert targets(lab_estate, "gpu.count") == ["n1", "n2"]
    assert targets(lab_estate, "clock.synchronized") == ["n1", "n2", "s1"]
    assert targets(lab_estate, "ib.ports-active") == ["n1", "n2", "s1"]
    expectation = found(lab_estate, "gpu.count", "n1")
    assert expectation == GpuExpectation(count=8, pci_device_id="2330", pcie_gen=5, pcie_width=16)


def test_pool_and_model_checks_name_the_thing_on_the_node(lab_estate: Estate) -> None:
    assert targets(lab_estate, "pool.canary-answers") == ["n1/chat"]
    assert targets(lab_estate, "model.checksum") == ["n1/echo"]
    expectation = found(lab_estate, "pool.flags-as-planned", "n1/chat")
    assert isinstance(expectation, PoolExpectation)
    assert expectation.flags["tensor-parallel-size"] == 2
    assert expectation.flags["ssl-cert-reqs"] == 2
    assert expectation.config == "/etc/sovctl/pools/chat.yaml"


def test_only_the_gateway_node_may_use_the_exception(lab_estate: Estate) -> None:
    for node, is_gateway in (("n1", False), ("s1", True)):
        expectation = found(lab_estate, "perimeter.exception-only-from-gateway", node)
        assert expectation == ExceptionExpectation(endpoints=(CLOUD,), is_gateway=is_gateway)


def test_an_expired_exception_is_expected_closed_for_the_gateway_too(lab_estate: Estate) -> None:
    later = replace(lab_estate, today=date(2099, 1, 1))
    expectation = found(later, "perimeter.exception-only-from-gateway", "s1")
    assert isinstance(expectation, ExceptionExpectation)
    assert expectation.expired == (CLOUD,)


def test_a_port_beside_the_exception_and_the_internet_are_tried(lab_estate: Estate) -> None:
    expectation = found(lab_estate, "perimeter.no-way-out", "n2")
    assert expectation == NoWayOutExpectation(endpoints=(CLOUD, Endpoint("10.88.0.2", 9), Endpoint("192.0.2.1", 443)))


def test_a_site_without_exceptions_still_tries_to_get_out() -> None:
    closed = estate("closed-perimeter")
    names = targets(closed, "perimeter.no-way-out")
    assert len(names) == len(closed.context.spec.nodes())
    assert targets(closed, "perimeter.exception-only-from-gateway") == []
    assert targets(closed, "gateway.vault-encrypted") == []
    expectation = found(closed, "perimeter.no-way-out", names[0])
    assert expectation == NoWayOutExpectation(endpoints=(Endpoint("192.0.2.1", 443),))


def test_nodes_without_nvlink_have_no_nvlink_checks_and_their_own_lock() -> None:
    bank = estate("bank-hybrid")
    l40s = [node.name for group, node in bank.context.spec.nodes() if group.platform == "l40s-4"]
    assert l40s
    for name in l40s:
        assert name in targets(bank, "gpu.count")
        assert name not in targets(bank, "nvlink.links-active")
        assert name not in targets(bank, "nvlink.fabric-ready")
        assert name not in targets(bank, "software.fabric-manager-equals-driver")


def test_b200_expects_health_and_two_fabric_services() -> None:
    pod = estate("superpod-b200")
    node = targets(pod, "nvlink.fabric-ready")[0]
    expectation = found(pod, "nvlink.fabric-ready", node)
    assert isinstance(expectation, FabricExpectation)
    assert (expectation.health, expectation.services) == ("Healthy", ("nvidia-fabricmanager", "nvlsm"))
    links = found(pod, "nvlink.links-active", node)
    assert links == LinkExpectation(gpus=8, links=18, link_gb_s=53.125, topology="NV18")


def test_a_pool_over_nodes_has_one_door() -> None:
    pod = estate("superpod-b200")
    wide = [replica for replica in pod.context.replicas if len(replica.ranks) > 1]
    assert wide
    for replica in wide:
        doors = [each for each in targets(pod, "pool.canary-answers") if each.startswith(f"{replica.ranks[0].node}/")]
        assert doors
    assert len(targets(pod, "pool.flags-as-planned")) > len(targets(pod, "pool.canary-answers"))


def test_choosing_keeps_populations_whole(lab_estate: Estate) -> None:
    everything = all_cases(lab_estate)
    chosen = choose(everything, nodes=["n1"], checks=["nvlink.*", "gpu.ecc"])
    assert {case.node for case in chosen} == {"n1"}
    assert {case.check.id.partition(".")[0] for case in chosen} == {"nvlink", "gpu"}
    assert populations(everything)["gpu.ecc"] == ["n1", "n2"]
    assert lab_estate.today == TODAY
