"""A plan is refused if the firewall would end the controller's own access."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

import pytest
from strategies import context

from sovctl.engine.site.own_address import check_management, source_address
from sovctl.engine.spec import Node, SiteSpec
from sovctl.support.errors import InputError

LOCAL = Node(name="local", address=IPv4Address("127.0.0.1"))


def spec(network: str) -> SiteSpec:
    made = context("lab").spec
    perimeter = made.perimeter.model_copy(update={"management": [IPv4Network(network)]})
    return made.model_copy(update={"perimeter": perimeter})


def test_finds_the_address_from_which_this_machine_sends() -> None:
    assert source_address(LOCAL.address) == IPv4Address("127.0.0.1")


def test_accepts_a_management_network_with_this_machine() -> None:
    check_management(spec("127.0.0.0/8"), [LOCAL])


def test_refuses_a_management_network_without_this_machine() -> None:
    with pytest.raises(InputError, match=r"no network contains 127\.0\.0\.1") as error:
        check_management(spec("10.77.0.1/32"), [LOCAL, LOCAL])
    assert error.value.where == "site.yaml: perimeter.management"
