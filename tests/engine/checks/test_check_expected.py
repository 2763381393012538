"""What is expected follows from site.yaml and the catalogue, and from nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest
from check_sites import TODAY, check_context

from sovctl.engine.catalog.benchmarks import load_benchmarks
from sovctl.engine.certificate_authority import LEAF_DAYS
from sovctl.engine.checks.definitions.gpu import _gpu_check
from sovctl.engine.checks.definitions.ib import _pairs
from sovctl.engine.checks.definitions.nccl import _group, _one_node
from sovctl.engine.checks.definitions.nvlink import _links, fabric_ready
from sovctl.engine.checks.definitions.perimeter import exception_only_from_gateway, no_way_out
from sovctl.engine.checks.definitions.perimeter._attempts import Endpoint
from sovctl.engine.checks.definitions.pool import _replicas
from sovctl.engine.checks.definitions.site import root_certificate_lasts
from sovctl.engine.checks.model.check import Level
from sovctl.engine.checks.model.check_context import CheckContext
from sovctl.engine.checks.registry import BY_ID, CHECKS, FORMER_IDS, KNOWN_CHECKS
from sovctl.engine.checks.runner.targets import choose, populations, targets_of, without_target
from sovctl.engine.spec.fabric import InfinibandFabric

CLOUD = Endpoint("10.88.0.2", 443)
OUTSIDE = (Endpoint("192.0.2.1", 443), Endpoint("192.0.2.1", 53), Endpoint("2001:db8::1", 443))


def found(of: CheckContext, check_id: str, target: str) -> object:
    (target_,) = [each for each in targets_of(of) if (each.check.id, each.name) == (check_id, target)]
    return target_.expectation


def targets(of: CheckContext, check_id: str) -> list[str]:
    return populations(targets_of(of)).get(check_id, [])


def test_ids_versions_titles_and_controls_are_in_order() -> None:
    assert len(KNOWN_CHECKS) == len(CHECKS)
    for check in CHECKS:
        assert check.version >= 1
        assert check.title == check.title.strip()
        assert check.controls == tuple(sorted(check.controls))
        assert check.controls


@pytest.mark.parametrize("name", ["lab", "bank-hybrid", "closed-perimeter", "superpod-b200"])
def test_every_case_of_every_example_is_unique_and_has_a_probe(name: str) -> None:
    cases = targets_of(check_context(name))
    assert len({case.id for case in cases}) == len(cases)
    assert len({(case.check.id, case.name) for case in cases}) == len(cases)
    for case in cases:
        probe = case.check.probe(case.expectation)
        assert probe.command
        assert probe.timeout_s > 0


def test_the_root_is_wanted_a_year_longer_than_what_it_issues(lab_context: CheckContext) -> None:
    assert targets(lab_context, "site.root-certificate-lasts") == ["site"]
    expectation = found(lab_context, "site.root-certificate-lasts", "site")
    assert expectation == root_certificate_lasts.Expected(
        file="/s/pki/ca.pem",
        needed_until=TODAY + timedelta(days=LEAF_DAYS),
        wanted_until=TODAY + timedelta(days=LEAF_DAYS + 365),
    )


def test_gpu_checks_look_at_gpu_nodes_alone(lab_context: CheckContext) -> None:
    assert targets(lab_context, "gpu.count") == ["n1", "n2"]
    assert targets(lab_context, "clock.synchronized") == ["n1", "n2", "s1"]
    assert targets(lab_context, "ib.ports-active") == ["n1", "n2", "s1"]
    expectation = found(lab_context, "gpu.count", "n1")
    assert expectation == _gpu_check.Expected(gpu_count=8, pci_device_id="2330", pcie_gen=5, pcie_width=16)


def test_pool_and_model_checks_name_the_thing_on_the_node(lab_context: CheckContext) -> None:
    assert targets(lab_context, "pool.probe-answers") == ["n1/chat"]
    assert targets(lab_context, "model.checksum") == ["n1/echo"]
    expectation = found(lab_context, "pool.flags-as-planned", "n1/chat")
    assert isinstance(expectation, _replicas.Expected)
    assert expectation.flags["tensor-parallel-size"] == 2
    assert expectation.flags["ssl-cert-reqs"] == 2
    assert expectation.config == "/etc/sovctl/pools/chat.yaml"


def test_only_the_gateway_node_may_use_the_exception(lab_context: CheckContext) -> None:
    for node, is_gateway in (("n1", False), ("s1", True)):
        expectation = found(lab_context, "perimeter.exception-only-from-gateway", node)
        assert expectation == exception_only_from_gateway.Expected(endpoints=(CLOUD,), is_gateway=is_gateway)


def test_an_expired_exception_is_expected_closed_for_the_gateway_too(lab_context: CheckContext) -> None:
    later = replace(lab_context, today=date(2099, 1, 1))
    expectation = found(later, "perimeter.exception-only-from-gateway", "s1")
    assert isinstance(expectation, exception_only_from_gateway.Expected)
    assert expectation.expired == (CLOUD,)


def test_a_port_beside_the_exception_and_the_internet_are_tried(lab_context: CheckContext) -> None:
    expectation = found(lab_context, "perimeter.no-way-out", "n2")
    assert expectation == no_way_out.Expected(endpoints=(CLOUD, Endpoint("10.88.0.2", 9), *OUTSIDE))


def test_a_site_without_exceptions_still_tries_to_get_out() -> None:
    closed = check_context("closed-perimeter")
    names = targets(closed, "perimeter.no-way-out")
    assert len(names) == len(closed.context.spec.nodes())
    assert targets(closed, "perimeter.exception-only-from-gateway") == []
    assert targets(closed, "gateway.vault-encrypted") == []
    expectation = found(closed, "perimeter.no-way-out", names[0])
    assert expectation == no_way_out.Expected(endpoints=OUTSIDE)


def test_nodes_without_nvlink_have_no_nvlink_checks_and_their_own_lock() -> None:
    bank = check_context("bank-hybrid")
    l40s = [node.name for group, node in bank.context.spec.nodes() if group.platform == "l40s-4"]
    assert l40s
    for name in l40s:
        assert name in targets(bank, "gpu.count")
        assert name not in targets(bank, "nvlink.links-active")
        assert name not in targets(bank, "nvlink.fabric-ready")
        assert name not in targets(bank, "software.fabric-manager-equals-driver")


def test_b200_expects_health_fabric_manager_and_the_process_of_its_subnet_manager() -> None:
    pod = check_context("superpod-b200")
    node = targets(pod, "nvlink.fabric-ready")[0]
    expectation = found(pod, "nvlink.fabric-ready", node)
    assert isinstance(expectation, fabric_ready.Expected)
    assert (expectation.health, expectation.services) == ("Healthy", ("nvidia-fabricmanager",))
    assert expectation.processes == ("nvlsm",), "the vendor's package has no unit of nvlsm"
    links = found(pod, "nvlink.links-active", node)
    assert links == _links.Expected(gpu_count=8, links_per_gpu=18, link_gb_s=53.125, topology="NV18")


def test_a_pool_over_nodes_has_one_door() -> None:
    pod = check_context("superpod-b200")
    wide = [replica for replica in pod.context.replicas if len(replica.ranks) > 1]
    assert wide
    for replica in wide:
        doors = [each for each in targets(pod, "pool.probe-answers") if each.startswith(f"{replica.ranks[0].node}/")]
        assert doors
    assert len(targets(pod, "pool.flags-as-planned")) > len(targets(pod, "pool.probe-answers"))


def test_choosing_keeps_populations_whole(lab_context: CheckContext) -> None:
    everything = targets_of(lab_context)
    chosen = choose(everything, nodes=["n1"], checks=["nvlink.*", "gpu.ecc"])
    assert {case.node for case in chosen} == {"n1"}
    assert {case.check.id.partition(".")[0] for case in chosen} == {"nvlink", "gpu"}
    assert populations(everything)["gpu.ecc"] == ["n1", "n2"]
    assert lab_context.today == TODAY


def test_a_former_check_id_still_chooses_its_check(lab_context: CheckContext) -> None:
    everything = targets_of(lab_context)
    chosen = choose(everything, checks=["pool.canary-answers"])
    assert chosen == choose(everything, checks=["pool.probe-answers"])
    assert [target.check.id for target in chosen] == ["pool.probe-answers"]


def test_no_former_check_id_is_in_use() -> None:
    assert FORMER_IDS == {"pool.canary-answers": "pool.probe-answers"}
    assert KNOWN_CHECKS.isdisjoint(FORMER_IDS)


def test_nccl_limits_follow_from_board_and_number_of_nodes() -> None:
    site = check_context("bank-hybrid")
    one = found(site, "nccl.one-node-bandwidth", targets(site, "nccl.one-node-bandwidth")[0])
    assert isinstance(one, _one_node.Expected)
    assert (one.gpus, one.payload_bytes, one.minimum_gb_s, one.needs_nvls) == (8, 16 << 30, 460, True)
    (name,) = targets(site, "nccl.all-nodes-bandwidth")
    group = found(site, "nccl.all-nodes-bandwidth", name)
    assert isinstance(group, _group.Expected)
    assert group.minimum_gb_s == 440
    assert len(group.nodes) == len(group.addresses) > 1


def test_boards_without_nvlink_sharp_are_not_asked_for_it_and_unknown_boards_have_no_limit() -> None:
    limits = load_benchmarks()
    assert limits.nccl_limit("a100-sxm-8", nodes=1, gpus=8).nvls is False  # type: ignore[union-attr]
    assert limits.nccl_limit("l40s-4", nodes=1, gpus=4) is None
    assert limits.nccl_limit("h100-sxm-8", nodes=1, gpus=4) is None
    assert limits.rdma_limit(100) is None


def test_the_cpu_engine_of_a_lab_has_no_nccl_between_nodes(lab_context: CheckContext) -> None:
    assert targets(lab_context, "nccl.all-nodes-bandwidth") == []


def test_checks_of_burn_in_run_only_at_that_level(lab_context: CheckContext) -> None:
    everything = targets_of(lab_context)
    assert [each for each in everything if each.check.id == "pool.golden-tokens"]
    assert not [each for each in choose(everything) if each.check.id == "pool.golden-tokens"]
    chosen = choose(everything, level=Level.BURN_IN)
    assert [each for each in chosen if each.check.id == "pool.golden-tokens"]


def test_pairs_of_neighbours_measure_every_rail_one_after_the_other() -> None:
    site = check_context("bank-hybrid")
    fabric = InfinibandFabric(probe_node="dgx-1")
    spec = site.context.spec.model_copy(update={"fabric": fabric})
    with_fabric = replace(site, context=replace(site.context, spec=spec))
    pairs = targets(with_fabric, "ib.pair-bandwidth")
    assert pairs
    assert targets(site, "ib.pair-bandwidth") == []
    for name in pairs:
        expectation = found(with_fabric, "ib.pair-bandwidth", name)
        assert isinstance(expectation, _pairs.Expected)
        assert len(expectation.rails) == 8
        commands = BY_ID["ib.pair-bandwidth"].commands(expectation)  # type: ignore[attr-defined]
        assert len(commands) == 8 * 3 * 2
        assert {command.node for command in commands} == set(expectation.nodes)
        assert all(command.ready for command in commands if command.ends_with_others)


def test_checks_without_a_target_are_those_of_parts_the_site_lacks() -> None:
    everything = targets_of(check_context("closed-perimeter"))
    absent = without_target(everything)
    assert {"perimeter.exception-only-from-gateway", "nvlink.imex-ready"} <= set(absent)
    assert not set(absent) & {target.check.id for target in everything}
    assert without_target(everything, checks=["gpu.*", "nvlink.imex-*"]) == ("nvlink.imex-ready",)
    assert set(without_target(everything, level=Level.QUICK)) <= {
        check.id for check in CHECKS if check.level == "quick"
    }
