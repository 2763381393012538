"""FIPS mode in the facts of a node: read, or not measured."""

from __future__ import annotations

import pytest

from sovctl.engine.facts.host.fips import parse_fips_kernel, parse_fips_providers
from sovctl.engine.facts.unreadable import Unreadable

OFF = "Providers:\n  default\n    name: OpenSSL Default Provider\n    version: 3.0.19\n    status: active\n"
ON = f"{OFF}  fips\n    name: OpenSSL FIPS Provider\n    version: 3.0.19\n    status: active\n"
INACTIVE = f"{OFF}  fips\n    name: OpenSSL FIPS Provider\n    status: inactive\n"


@pytest.mark.parametrize(("text", "is_on"), [("1\n", True), ("0\n", False), ("absent\n", False)])
def test_the_mode_of_the_kernel_is_read(text: str, is_on: bool) -> None:
    assert parse_fips_kernel(text) is is_on


@pytest.mark.parametrize(("text", "is_on"), [(ON, True), (OFF, False), (INACTIVE, False)])
def test_an_active_provider_of_openssl_is_found(text: str, is_on: bool) -> None:
    assert parse_fips_providers(text) is is_on


@pytest.mark.parametrize("text", ["", "2\n", "yes"])
def test_another_text_of_the_kernel_is_not_measured(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_fips_kernel(text)


@pytest.mark.parametrize(
    "text", ["", "Providers:\n", "openssl:Error: 'list' is an invalid command.\n", ON.replace("Providers:", "x")]
)
def test_another_text_of_openssl_is_not_measured(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_fips_providers(text)
