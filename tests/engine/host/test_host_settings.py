"""Parity: settings of DGX OS are set on other GPU servers, and only compared on DGX OS."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from node_edits import with_answer, with_text
from planned_nodes import empty, planned
from strategies import context

from sovctl.engine.catalog import load_catalog
from sovctl.engine.catalog.host_settings import SetBy, host_settings, load_host_settings
from sovctl.engine.catalog.platforms import load_platforms
from sovctl.engine.facts.host.fips import KERNEL_FILE
from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.facts.operating_system import SecureBoot, Virtualization
from sovctl.engine.plan.build import changes, desired_on, requests
from sovctl.engine.plan.support import refusals
from sovctl.engine.resources.resource import Desired
from sovctl.engine.resources.serving.flags import flags
from sovctl.engine.spec.serving.multimodal import Multimodal
from sovctl.engine.validation.rules import check

PAGE = Path(__file__).parents[3] / "docs" / "host.md"


def wanted(preset: str, facts: NodeFacts) -> dict[tuple[str, str], Desired]:
    site = context(preset)
    return {(each.kind, each.name): each for each in desired_on(site, site.spec.node(facts.node), facts)}


def with_virtualization(facts: NodeFacts, kind: Virtualization) -> NodeFacts:
    return replace(facts, system=replace(facts.system, virtualization=kind))


def dgx_os(facts: NodeFacts) -> NodeFacts:
    return replace(facts, system=replace(facts.system, dgx_release="7.2.3"))


def test_a_row_without_effect_has_a_reason_and_every_row_a_package_of_dgx_os() -> None:
    rows = load_host_settings()
    assert len({each.id for each in rows}) == len(rows)
    assert all(each.dgx_package and each.source and each.purpose for each in rows)
    assert {each.id for each in rows if each.set_by is SetBy.NONE} == {each.id for each in rows if each.reason}


def test_rows_follow_the_platform() -> None:
    platforms = load_platforms()
    ids = {name: {each.id for each in host_settings(platforms[name])} for name in platforms}
    assert not ids["service"]
    both = {"iommu-passthrough", "iommu-passthrough-arm"}
    assert ids["hgx-h100"] & both == {"iommu-passthrough"}
    assert ids["dgx-gb200-nvl72"] & both == {"iommu-passthrough-arm"}
    assert {name for name, each in ids.items() if "ib-umad" in each} >= {"hgx-b200", "dgx-b200", "dgx-b300"}
    assert "ib-umad" not in ids["hgx-h100"]


def test_an_omitted_row_is_not_set() -> None:
    found = host_settings(load_platforms()["hgx-h100"], omitted=["init-on-alloc"])
    assert "init_on_alloc=0" not in {each.value for each in found}


def test_settings_are_set_on_other_systems_and_compared_on_dgx_os() -> None:
    set_here, compared = wanted("bank-hybrid", empty("dgx-1")), wanted("bank-hybrid", dgx_os(empty("dgx-1")))
    for name in (("kernel", "boot-options"), ("kernel", "modules"), ("hardware", "settings")):
        assert set_here[name].variables["is_asserted"] is False
        assert compared[name].variables["is_asserted"] is True
        files = {key for key in set_here[name].state or () if key.endswith("_sha256")}
        assert files
        assert not files & set(compared[name].state or ())


def test_a_container_has_none_of_them_and_the_plan_gives_the_reason() -> None:
    site = context("lab")
    facts = {node.name: replace(empty(node.name), is_container=True) for _, node in site.spec.nodes()}
    facts = {name: with_virtualization(each, Virtualization.CONTAINER) for name, each in facts.items()}
    made = changes(site, facts)
    assert not [each for each in made if each.kind in ("kernel", "hardware")]
    reasons = [each.why for each in made if each.id == "n1/tuning/kernel"]
    assert len(reasons) == 1
    assert "swap, mounts, boot options, modules, governor, PCI settings" in reasons[0]


def test_a_virtual_machine_keeps_the_pci_settings_of_its_host() -> None:
    found = wanted("bank-hybrid", with_virtualization(empty("dgx-1"), Virtualization.VM))
    assert ("hardware", "settings") not in found
    assert ("kernel", "boot-options") in found


def test_the_page_names_every_row_with_its_package() -> None:
    page = PAGE.read_text()
    for each in load_host_settings():
        assert f"| `{each.id}` | `{each.dgx_package}` |" in page, each.id


@pytest.mark.parametrize("state", SecureBoot)
@pytest.mark.parametrize("is_required", [True, False])
def test_apply_refuses_a_machine_without_secure_boot_if_the_site_requires_it(
    state: SecureBoot, is_required: bool
) -> None:
    site = context("bank-hybrid")
    host = site.spec.host.model_copy(update={"secure_boot": "required" if is_required else "any"})
    site = replace(site, spec=site.spec.model_copy(update={"host": host}))
    facts = planned("bank-hybrid")[0]["gw-1"]
    for is_container in (True, False):
        node = replace(facts, is_container=is_container, system=replace(facts.system, secure_boot=state))
        found = [each.message for each in refusals(site, {"gw-1": node}) if "host.secure_boot" in each.message]
        is_refused = is_required and not is_container and state is not SecureBoot.ENABLED
        assert found == (
            [f"Secure Boot is {state}, and site.yaml requires it (host.secure_boot)"] if is_refused else []
        )


PROVIDERS = "Providers:\n  fips\n    name: OpenSSL FIPS Provider\n    status: active\n"


@pytest.mark.parametrize(
    ("mode", "kernel", "openssl", "found"),
    [
        ("required", "1\n", PROVIDERS, []),
        ("required", "0\n", PROVIDERS, ["kernel is off"]),
        ("required", None, PROVIDERS, ["kernel is not measured"]),
        ("required", "1\n", PROVIDERS.replace("fips", "default"), ["OpenSSL is off"]),
        ("required", "1\n", None, ["OpenSSL is not measured"]),
        ("required", None, None, ["kernel is not measured", "OpenSSL is not measured"]),
        ("not-required", None, None, []),
        (None, None, None, []),
    ],
)
def test_apply_refuses_a_node_that_is_not_in_the_required_fips_mode(
    mode: str | None, kernel: str | None, openssl: str | None, found: list[str]
) -> None:
    site = context("bank-hybrid")
    host = site.spec.host.model_copy(update={"fips": mode})
    site = replace(site, spec=site.spec.model_copy(update={"host": host}))
    asked = requests(site)["gw-1"]
    assert (KERNEL_FILE in asked.read, "fips-providers" in asked.commands) == ((mode == "required"),) * 2
    facts = with_text(planned("bank-hybrid")[0]["gw-1"], KERNEL_FILE, kernel or "")
    if openssl is not None:
        facts = with_answer(facts, "fips-providers", openssl)
    messages = [each.message for each in refusals(site, {"gw-1": facts}) if "host.fips" in each.message]
    assert messages == [f"FIPS mode of {each}, and site.yaml requires it (host.fips)" for each in found]


def test_pools_of_a_site_in_fips_mode_hash_with_sha256_and_others_are_refused() -> None:
    site = context("bank-hybrid")
    host = site.spec.host.model_copy(update={"fips": "required"})
    media = Multimodal(mm_hasher_algorithm="blake3")
    pools = [site.spec.pools[0], *(each.model_copy(update={"multimodal": media}) for each in site.spec.pools[1:])]
    spec = site.spec.model_copy(update={"host": host, "pools": pools})
    replica = next(each for each in site.replicas if each.pool == pools[0].name)
    found = flags(replace(site, spec=spec), replica, replica.ranks[0])
    assert (found["mm-hasher-algorithm"], found["prefix-caching-hash-algo"]) == ("sha256", "sha256")
    assert "mm-hasher-algorithm" not in flags(site, replica, replica.ranks[0])
    where = [each.where for each in check(spec, load_catalog(), today=date(2026, 11, 29))]
    assert "pools[1].multimodal.mm_hasher_algorithm" in where
    assert "pools[0].multimodal.mm_hasher_algorithm" not in where


def test_apply_refuses_a_node_whose_compared_resources_differ() -> None:
    site = context("bank-hybrid")
    facts = dict(planned("bank-hybrid")[0])
    assert not [each for each in refusals(site, facts) if "differs" in each.message]
    broken = str(facts["gw-1"].texts["/proc/mdstat"]).replace("[2/2] [UU]", "[2/1] [U_]")
    facts["gw-1"] = replace(facts["gw-1"], texts={**facts["gw-1"].texts, "/proc/mdstat": broken})
    other = {**facts["dgx-1"].texts, "/proc/cmdline": "ro quiet\n"}
    facts["dgx-1"] = dgx_os(replace(facts["dgx-1"], texts=other))
    found = {(each.node, each.message) for each in refusals(site, facts)}
    assert (
        "gw-1",
        "storage / differs: raid_faults (md0: 1 of 2 members missing, present: nvme0n1p2, nvme1n1p2)",
    ) in found
    assert ("dgx-1", "kernel boot-options differs: running") in found
