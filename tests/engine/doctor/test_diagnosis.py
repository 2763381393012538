"""`sovctl doctor` and `sovctl plan` report the same missing files, and a missing item has a reason and a remedy."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from doctor_sites import findings, loopback_site, states
from example_sites import example
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import PRESETS

from sovctl.cli.documentation import commands
from sovctl.compliance.signing import load_or_create
from sovctl.engine.doctor.diagnosis import diagnose
from sovctl.engine.doctor.item import State
from sovctl.engine.doctor.items import ITEMS
from sovctl.engine.validation.load import check_files, load, references
from sovctl.support.errors import SpecError
from sovctl.support.package_files import package_folder

FILE_ITEMS = ("ssh-key", "host-keys", "repository-key", "secrets", "files")


def test_after_names_earlier_items_only() -> None:
    names = [each.name for each in ITEMS]
    assert len(set(names)) == len(names)
    assert [each.day for each in ITEMS] == sorted(each.day for each in ITEMS)
    for number, item in enumerate(ITEMS):
        assert set(item.after) <= set(names[:number]), item.name


def _break(path: Path, how: str) -> None:
    if how == "absent":
        path.unlink(missing_ok=True)
    elif path.exists() and how == "empty":
        path.write_text("")
    elif path.exists() and how == "open":
        path.chmod(0o644)


@pytest.mark.parametrize("preset", PRESETS)
@given(data=st.data())
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_doctor_and_plan_report_the_same_files(preset: str, data: st.DataObject, tmp_path: Path) -> None:
    folder = tmp_path / preset / str(len(list(tmp_path.rglob("site.yaml"))))
    site = example(preset, folder)
    places = sorted({each.file for each in references(site.spec) if each.file})
    for file in places:
        _break(folder / file, data.draw(st.sampled_from(("good", "good", "absent", "empty", "open")), label=file))
    loaded = load(folder / "site.yaml")
    expected: set[tuple[str, str]] = set()
    try:
        check_files(loaded)  # as `sovctl plan` calls it
    except SpecError as error:
        expected = {(each.where, each.message) for each in error.problems}
    found = diagnose(folder / "site.yaml")
    reported = {
        (each.subject, each.reason)
        for name in FILE_ITEMS
        for each in findings(found, name)
        if each.state is not State.DONE and not each.reason.startswith("no host key")
    }
    assert reported == expected
    assert not (expected and found.is_plan_possible)


@pytest.mark.parametrize("content", [None, "pools: 1\n", "a: [\n", "version: 1\x00"])
def test_without_a_valid_site_yaml_the_other_items_are_not_yet_possible(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / "site.yaml"
    if content is not None:
        path.write_text(content)
    found = diagnose(path)
    assert (found.site, found.is_plan_possible) == (None, False)
    assert states(found, "site-yaml") == {State.MISSING}
    assert states(found, "host-keys") == {State.NOT_YET}
    assert list(tmp_path.iterdir()) == ([path] if content is not None else [])


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    """A site on loopback whose ssh port refuses connections, with host keys of all nodes."""
    with socket.socket() as holder:
        holder.bind(("", 0))
        yield loopback_site(tmp_path / "site", port=holder.getsockname()[1])  # bound, so that it refuses


def test_a_complete_site_can_be_planned(site: Path) -> None:
    found = diagnose(site)
    assert found.is_plan_possible, found.as_json()
    assert states(found, "nodes") == {State.NOT_MEASURED}
    assert not (site.parent / ".sovctl").exists()


def test_nodes_that_do_not_answer_block_the_plan(site: Path) -> None:
    found = diagnose(site, contacts_nodes=True)
    assert not found.is_plan_possible
    nodes = findings(found, "nodes")
    assert len(nodes) == 6
    assert {(each.state, each.reason) for each in nodes} == {
        (State.MISSING, "connection to the ssh port refused"),
    }
    assert all(each.remedy for each in nodes)
    assert findings(found, "mirror")[0].state is State.NOT_YET  # 10.40.0.5 does not exist here


def test_names_the_nodes_without_host_key(site: Path) -> None:
    known = site.parent / "access" / "known_hosts"
    known.write_text("".join(known.read_text().splitlines(keepends=True)[1:]))
    (missing,) = findings(diagnose(site), "host-keys")
    assert missing.state is State.MISSING
    assert missing.subject.startswith("hgx-1 ([127.0.0.11]:")
    assert f"sovctl bootstrap enrol hgx-1 {site} --fingerprint" in missing.remedy


def test_accepts_hashed_host_keys(site: Path) -> None:
    known = site.parent / "access" / "known_hosts"
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(known)], check=True, capture_output=True)
    assert "127.0.0.11" not in known.read_text()
    assert states(diagnose(site), "host-keys") == {State.DONE}


def test_key_files_that_others_can_read_block_the_plan(site: Path) -> None:
    key = site.parent / ".sovctl" / "keys" / "plan.key"
    load_or_create(key)
    assert diagnose(site).is_plan_possible
    key.chmod(0o644)
    found = diagnose(site)
    assert states(found, "state") == {State.MISSING}
    assert findings(found, "state")[0].remedy == f"run `chmod 600 {key}`"
    assert not found.is_plan_possible


def test_a_secret_that_was_typed_instead_of_its_path_is_not_printed(site: Path) -> None:
    secret = "Correct-Horse-Battery-9"
    site.write_text(site.read_text().replace("secrets/registry", secret))
    found = diagnose(site)
    assert states(found, "secrets") == {State.MISSING}
    assert secret not in str(found.as_json())


def test_a_controller_outside_of_the_management_network_blocks_the_plan(site: Path) -> None:
    site.write_text(site.read_text().replace("management: [127.0.0.1/32]", "management: [10.40.0.2/32]"))
    found = diagnose(site)
    assert states(found, "network") == {State.MISSING}
    assert not found.is_plan_possible


def test_without_the_extra_of_bundles_its_items_are_not_measured(site: Path) -> None:
    program = (
        "import sys; sys.modules['tuf'] = None\n"
        "from pathlib import Path; from sovctl.engine.doctor.diagnosis import diagnose\n"
        f"found = diagnose(Path({str(site)!r}))\n"
        "print(found.is_plan_possible, [each.item.name for each in found.items if each.state == 'not measured'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True ['bundle-root', 'clock', 'mirror', 'nodes']\n"


def test_remedies_name_existing_commands() -> None:
    groups = {"sovctl import", "sovctl lock"}  # `sovctl import MEDIA` has a default command
    named: set[str] = set()
    for module in package_folder("engine/doctor").glob("*.py"):
        named |= set(re.findall(r"(?:\"|: )(sovctl [a-z]+(?: [a-z]+)*)", module.read_text()))
    assert len(named) > 10
    for each in named:
        words = each.split()
        names = {" ".join(words[:length]) for length in range(2, len(words) + 1)}
        assert names & (commands().keys() | groups), each
