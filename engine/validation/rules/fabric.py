"""Rules about `fabric` and the roles of ports."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from .rule import SiteUnderValidation, duplicates, unknown_name


def check_ports(site: SiteUnderValidation) -> Iterator[Problem]:
    for index, group in enumerate(site.spec.node_groups):
        roles = (("compute", group.ports.compute), ("storage", group.ports.storage), ("in_band", group.ports.in_band))
        where = f"node_groups[{index}].ports"
        yield from duplicates(
            "PCI address", ((f"{where}.{role}[{i}]", each) for role, listed in roles for i, each in enumerate(listed))
        )


def check_one_network(site: SiteUnderValidation) -> Iterator[Problem]:
    if site.spec.fabric is not None and site.spec.roce is not None:
        yield Problem(
            "compute ports are InfiniBand with `fabric`, and Ethernet with `roce`",
            where="roce",
            hint="remove the section that the site does not have",
        )


def check_probe_node(site: SiteUnderValidation) -> Iterator[Problem]:
    if site.spec.fabric is not None:
        names = [node.name for _, node in site.spec.nodes()]
        yield from unknown_name("node", site.spec.fabric.probe_node, names, "fabric.probe_node")
