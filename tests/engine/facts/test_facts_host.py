"""Packages, firewall, clock, kernel settings, units, ssh and InfiniBand of a node."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.facts.chrony import parse_sources, parse_tracking
from sovctl.engine.facts.hardware.infiniband import parse_infiniband, parse_tree
from sovctl.engine.facts.nftables import parse_ruleset
from sovctl.engine.facts.packages.apt_sources import parse_index_targets, parse_source_files
from sovctl.engine.facts.packages.dpkg import installed_versions, parse_holds, parse_packages
from sovctl.engine.facts.sshd import parse_sshd
from sovctl.engine.facts.sysctl import parse_sysctl
from sovctl.engine.facts.units import parse_units
from sovctl.engine.facts.unreadable import Unreadable, excerpt

# Printed by nft 1.0.6 for a wall with one named exception.
RULESET = json.dumps(
    {
        "nftables": [
            {"metainfo": {"version": "1.0.6", "release_name": "Lester Gooch #5", "json_schema_version": 1}},
            {"table": {"family": "inet", "name": "sovctl", "handle": 1}},
            {
                "chain": {
                    "family": "inet",
                    "table": "sovctl",
                    "name": "output",
                    "handle": 1,
                    "type": "filter",
                    "hook": "output",
                    "prio": 0,
                    "policy": "drop",
                }
            },
            {
                "rule": {
                    "family": "inet",
                    "table": "sovctl",
                    "chain": "output",
                    "handle": 3,
                    "comment": "named exception",
                    "expr": [
                        {"match": {"op": "==", "left": {"meta": {"key": "skuid"}}, "right": 964}},
                        {"accept": None},
                    ],
                }
            },
            {
                "rule": {
                    "family": "inet",
                    "table": "sovctl",
                    "chain": "output",
                    "handle": 4,
                    "expr": [{"counter": {"packets": 0, "bytes": 0}}, {"accept": None}],
                }
            },
        ]
    }
)
TRACKING = (
    "0A4D0001,10.77.0.1,9,1732156189.123456789,-0.000412,0.000012,0.000020,-1.230,0.001,0.050,0.000210,0.000120,64.2,"
    "Normal\n"
)
SOURCES = "^,*,10.77.0.1,8,6,377,23,-0.000001,0.000002,0.000030\n^,?,10.77.0.9,0,6,0,4294967295,0.0,0.0,0.0\n"
PARSERS: list[Callable[[str], object]] = [
    parse_packages,
    parse_holds,
    parse_index_targets,
    parse_source_files,
    parse_ruleset,
    parse_tracking,
    parse_sources,
    parse_sysctl,
    parse_units,
    parse_sshd,
    parse_tree,
]


@given(st.text(max_size=300))
@pytest.mark.parametrize("parse", PARSERS)
def test_any_text_is_read_or_refused(parse: Callable[[str], object], text: str) -> None:
    with contextlib.suppress(Unreadable):
        parse(text)


def test_an_excerpt_is_one_short_printable_line() -> None:
    assert excerpt("\n\x1b[31mred\x1b[0m\nsecond") == "'?[31mred?[0m'"
    assert len(excerpt("x" * 500)) <= 82
    assert excerpt(" \n") == "nothing"


def test_only_installed_packages_count_and_holds_are_names() -> None:
    packages = parse_packages("a\t1-1\tamd64\tii \nb\t2\tall\trc \nc\t1:3\tamd64\thi \nd\t1\tamd64\tiU \n")
    assert installed_versions(packages) == {"a": "1-1", "c": "1:3"}
    assert parse_holds("a\nlibc:amd64\n") == {"a", "libc"}
    assert parse_holds("") == frozenset()


@pytest.mark.parametrize("text", ["", "a 1-1 amd64 ii\n", "dpkg-query: no packages found\n"])
def test_dpkg_output_without_packages_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_packages(text)


def test_index_targets_are_apts_own_word() -> None:
    ours, other = parse_index_targets(
        "MetaKey: Packages\nRepo-URI: http://10.77.0.1:8080/apt/\nTrusted: yes\n"
        "Sourcesentry: /etc/apt/sources.list.d/sovctl.sources:1\n\n"
        "MetaKey: main/binary-amd64/Packages\nRepo-URI: http://deb.example.org/debian/\nTrusted: no\n"
    )
    assert (ours.repo_uri, ours.is_verified) == ("http://10.77.0.1:8080/apt/", True)
    assert (other.repo_uri, other.is_verified) == ("http://deb.example.org/debian/", False)
    assert parse_index_targets("") == ()


def test_source_files_are_read_in_both_forms() -> None:
    entries = parse_source_files(
        "=> /etc/apt/sources.list\n# deb http://old.example.org/debian x main\n"
        "deb [arch=amd64 trusted=yes] http://a.example.org/debian x main # why\n"
        "=> /etc/apt/sources.list.d/b.sources\nTypes: deb\nURIs: http://b.example.org/1\n http://b.example.org/2\n"
        "Suites: ./\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n\n"
        "Types: deb\nURIs: http://c.example.org/\nSuites: x\nEnabled: no\n"
    )
    plain, embedded = entries
    assert (plain.uris, plain.signed_by, plain.forced) == (("http://a.example.org/debian",), None, ("trusted",))
    assert embedded.uris == ("http://b.example.org/1", "http://b.example.org/2")
    assert embedded.signed_by is not None
    assert embedded.forced == ()
    assert parse_source_files("") == ()


@pytest.mark.parametrize(
    "text", ["deb http://x y\n", "=> /etc/apt/sources.list\nnonsense\n", "=> /x.sources\nnonsense\n"]
)
def test_strange_source_files_are_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_source_files(text)


def test_a_ruleset_shows_policies_and_rules_that_meet_everything() -> None:
    ruleset = parse_ruleset(RULESET)
    chain = ruleset.base_chains("inet", "sovctl")["output"]
    assert (chain.policy, chain.type, chain.priority) == ("drop", "filter", 0)
    named, open_to_all = (rule for rule in ruleset.rules if rule.chain == "output")
    assert (named.verdict, named.matches_all, named.comment) == ("accept", False, "named exception")
    assert (open_to_all.verdict, open_to_all.matches_all) == ("accept", True)


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"nftables": []}', "[]", "table inet sovctl {}", '{"nftables": [{"metainfo": {}}, {"chain": {}}]}'],
)
def test_an_absent_or_strange_ruleset_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_ruleset(text)


def test_an_empty_ruleset_is_an_answer() -> None:
    assert parse_ruleset('{"nftables": [{"metainfo": {"json_schema_version": 1}}]}').chains == ()


def test_clock_error_bound_counts_dispersion_and_delay() -> None:
    tracking = parse_tracking(TRACKING)
    assert (tracking.reference, tracking.stratum, tracking.leap) == ("10.77.0.1", 9, "Normal")
    assert tracking.error_bound_s == pytest.approx(0.000412 + 0.00012 + 0.000105)
    selected, silent = parse_sources(SOURCES)
    assert (selected.state, selected.reach) == ("*", 0o377)
    assert (silent.state, silent.reach) == ("?", 0)


@pytest.mark.parametrize("text", ["", "506 Cannot talk to daemon\n", TRACKING + TRACKING, "a,b\n"])
def test_a_clock_that_does_not_answer_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_tracking(text)


def test_sysctl_values_have_single_blanks() -> None:
    assert parse_sysctl("net.ipv4.tcp_rmem = 4096\t131072\t6291456\n") == {"net.ipv4.tcp_rmem": "4096 131072 6291456"}
    with pytest.raises(Unreadable):
        parse_sysctl("sysctl: cannot stat /proc/sys/x")


def test_units_are_read_block_by_block() -> None:
    running, absent = parse_units(
        "Id=a.service\nLoadState=loaded\nActiveState=active\nSubState=running\nMainPID=42\n\n"
        "Id=b.service\nLoadState=not-found\nActiveState=inactive\nSubState=dead\nMainPID=0\n"
    )
    assert (running.is_running, running.main_pid) == (True, 42)
    assert (absent.is_running, absent.load) == (False, "not-found")


@pytest.mark.parametrize("text", ["", "LoadState=loaded\n", "Failed to connect to bus\n"])
def test_units_without_a_name_are_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_units(text)


def test_sshd_takes_the_first_value() -> None:
    values = parse_sshd("port 22\npubkeyauthentication yes\npasswordauthentication no\npasswordauthentication yes\n")
    assert values["passwordauthentication"] == "no"
    with pytest.raises(Unreadable):
        parse_sshd("")


def test_infiniband_ports_keep_what_is_missing_as_none() -> None:
    files = parse_tree(
        "mlx5_0/fw_ver:28.41.1000\nmlx5_0/ports/1/state:2: INIT\nmlx5_0/ports/1/rate:400 Gb/sec (4X NDR)\n"
    )
    (adapter,) = parse_infiniband(files)
    (port,) = adapter.ports
    assert (adapter.fw_ver, adapter.hca_type) == ("28.41.1000", None)
    assert (port.state, port.phys_state, port.rate_gbit_s, port.link_layer) == ("INIT", None, 400.0, None)
    assert parse_infiniband({}) == ()


@pytest.mark.shared
def test_reads_the_h100_sysfs_capture(captures: Path) -> None:
    tree = json.loads((captures / "sysfs/8xh100-class-infiniband__leptonai-gpud.json").read_text())
    adapters = parse_infiniband(tree)
    compute = [each for each in adapters if not each.is_bond]
    assert len(compute) == 8
    assert {(p.state, p.phys_state, p.rate_gbit_s, p.link_layer) for each in compute for p in each.ports} == {
        ("ACTIVE", "LinkUp", 400.0, "InfiniBand")
    }
    (bond,) = [each for each in adapters if each.is_bond]
    assert bond.ports[0].link_layer == "Ethernet"


@pytest.mark.shared
@pytest.mark.parametrize(("name", "rate"), [("8xa100-learn_good", 200.0), ("8xa100-learn_ib_intf_bad_rate", 100.0)])
def test_reads_the_a100_sysfs_captures(captures: Path, name: str, rate: float) -> None:
    tree = json.loads((captures / f"sysfs/{name}__facebookresearch-gcm.json").read_text())
    rates = {p.rate_gbit_s for each in parse_infiniband(tree) for p in each.ports if p.link_layer == "InfiniBand"}
    assert rate in rates
