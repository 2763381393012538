"""Advisories: releases, and settings that exist in the serve profile."""

from __future__ import annotations

import pytest

from sovctl.engine.catalog.advisories import Status, load_advisories, release, status_of
from sovctl.engine.catalog.serve_flags import load_serve_flags
from sovctl.engine.resources.serving.closed import missing_settings, profile_findings
from sovctl.engine.resources.serving.profile import ABSENT_FLAGS, ABSENT_VARIABLES, FLAGS, TLS_FLAGS, VARIABLES
from sovctl.engine.validation.rules.site import check_floor


@pytest.mark.parametrize(
    ("version", "status"),
    [
        ("0.2.9", Status.NOT_YET),
        ("0.3.0", Status.AFFECTED),
        ("0.21.9", Status.AFFECTED),
        ("0.22", Status.FIXED),
        ("0.32.0+cpu", Status.FIXED),
        ("1.0", Status.FIXED),
        ("dev", Status.UNKNOWN),
        ("", Status.UNKNOWN),
    ],
)
def test_releases_are_compared_by_number(version: str, status: Status) -> None:
    assert status_of(load_advisories()["CVE-2026-48746"], version) is status


def test_an_advisory_without_a_fixed_release_stays_open() -> None:
    assert status_of(load_advisories()["vllm-57157"], "99.0") is Status.AFFECTED
    assert release("0.23.1rc0") == (0, 23, 1)


def test_every_setting_is_a_row_of_the_profile() -> None:
    flags = dict.fromkeys(ABSENT_FLAGS, "") | {"ssl-cert-reqs": "0"}
    variables = dict.fromkeys(ABSENT_VARIABLES, "1")
    for each in load_advisories().values():
        # Nothing is present, and everything is set that must be absent: each setting is missing, and none is unknown.
        assert missing_settings(each.settings, flags, variables) == list(each.settings), each.id


def test_every_advisory_is_fixed_or_has_a_setting_or_a_measure() -> None:
    assert all(each.fixed or each.settings for each in load_advisories().values())


def test_flags_of_the_profile_are_flags_of_the_release() -> None:
    known = load_serve_flags().flags
    assert {*FLAGS, *TLS_FLAGS, *ABSENT_FLAGS} <= known.keys()


def given(**changes: str | None) -> dict[str, str]:
    """Flags of a server as the profile has them."""
    flags = {
        "disable-fastapi-docs": "",
        "disable-uvicorn-access-log": "",
        "middleware": "sovctl_routes.ServedRoutes",
        "allowed-media-domains": "no-media-host.invalid",
        "shutdown-timeout": "60",
        **dict.fromkeys(TLS_FLAGS, "x"),
        "ssl-cert-reqs": "2",
    }
    changed = {name.replace("_", "-"): value for name, value in changes.items()}
    return {name: value for name, value in (flags | changed).items() if value is not None}


ENVIRONMENT = {name: "x" if each.value is None else str(each.value) for name, each in VARIABLES.items()}


def test_a_server_with_the_profile_has_no_finding() -> None:
    assert profile_findings(given(), ENVIRONMENT) == []


@pytest.mark.parametrize("name", [*FLAGS, *TLS_FLAGS])
def test_an_absent_flag_is_a_finding_with_its_reason(name: str) -> None:
    ((wanted, found, reason),) = profile_findings(given(**{name: None}), ENVIRONMENT)
    assert (wanted.split()[0], found) == (f"--{name}", "not set")
    assert len(reason) > 10


@pytest.mark.parametrize("name", VARIABLES)
def test_an_absent_variable_is_a_finding(name: str) -> None:
    less = {key: value for key, value in ENVIRONMENT.items() if key != name}
    ((wanted, found, _),) = profile_findings(given(), less)
    assert (wanted.split()[0], found) == (name, "not set")


@pytest.mark.parametrize("name", ABSENT_FLAGS)
def test_an_excluded_flag_is_a_finding_unless_it_is_planned(name: str) -> None:
    assert [row[0] for row in profile_findings(given(**{name: ""}), ENVIRONMENT)] == [f"no --{name}"]
    assert profile_findings(given(**{name: ""}), ENVIRONMENT, permitted=[name]) == []


@pytest.mark.parametrize("name", ABSENT_VARIABLES)
def test_an_excluded_variable_is_a_finding_unless_it_is_0(name: str) -> None:
    assert [row[0] for row in profile_findings(given(), ENVIRONMENT | {name: "1"})] == [f"no {name}"]
    assert profile_findings(given(), ENVIRONMENT | {name: "0"}) == []


def test_a_server_of_a_swap_group_has_a_proxy_instead_of_certificates_and_middleware() -> None:
    flags = {name: value for name, value in given().items() if name not in {*TLS_FLAGS, "middleware"}}
    assert profile_findings(flags | {"uds": "/run/x"}, ENVIRONMENT) == []
    assert missing_settings(["front", "flag middleware"], flags | {"uds": "/run/x"}, ENVIRONMENT) == []
    assert missing_settings(["front", "flag middleware"], flags, ENVIRONMENT) == ["front", "flag middleware"]


def test_a_release_with_an_open_vulnerability_is_refused() -> None:
    (problem,) = check_floor("0.19.0")
    assert problem.where == "software.engine_version"
    assert (
        problem.message == "expected vLLM 0.23.1 or later, got 0.19.0: CVE-2026-44222, CVE-2026-44223, CVE-2026-54233"
    )
    assert not list(check_floor("0.32.0"))
