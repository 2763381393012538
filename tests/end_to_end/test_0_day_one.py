"""Day one of a closed site, from nodes with sshd only to an empty second plan (shared/reference/day_one.md, section 5).

The tests are steps, in order: host keys, inventory, lock, bundle on three media, import, mirror, plan, apply, reboot.
Refusals are tested at the step that they would break.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from day_one import APPROVER, IMPORTER, MIRROR, NODES, SEQUENCE, DayOne, Outlet, clock_at, contents, flip_a_byte
from lab_site import SharedLab, wait_for

from examples import IS_COMPLETE
from sovctl.engine.bundle.lock_file import read_lock
from sovctl.support.errors import ExitCode

pytestmark = pytest.mark.lab

complete = pytest.mark.skipif(
    not IS_COMPLETE, reason="installs vLLM on a node from the mirror; runs with `make test-all`"
)
OUTSIDE = "10.88.0.2"
"""The lab's host outside."""
REQUESTS = "sudo journalctl -t sovctl_mirror -o cat --no-pager"
ON_ALL = {"clock", "package", "perimeter", "repository", "sshd", "tuning"}
PLANNED = {
    "n1": ON_ALL | {"credential", "environment", "gpu_modes", "model", "pool", "service", "service_account"},
    "n2": ON_ALL | {"gpu_modes", "service"},
    MIRROR: ON_ALL | {"credential", "mirror_snapshot", "site_mirror"},
}
"""Types of resources of the first plan, by node."""


@pytest.fixture(scope="module")
def site(shared_lab: SharedLab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DayOne]:
    """The closed site: no host key is known, no node is configured."""
    folder = shared_lab.of_preset("mirror")
    made = DayOne(folder, lab=shared_lab.lab, outside=tmp_path_factory.mktemp("outside"))
    made.describe()
    made.forget()
    yield made
    shared_lab.down()


@pytest.fixture(scope="module")
def outlet(site: DayOne) -> Outlet:
    """The firewall around the site, after one packet that it counted."""
    made = Outlet(site.lab)
    made.close()
    site.on("n1", f"timeout 1 bash -c ': </dev/tcp/{OUTSIDE}/443'", accept=(1, 124))
    assert made.packets()["forward"] > 0
    made.close()
    return made


def test_a_node_with_another_host_key_is_not_enrolled(site: DayOne, outlet: Outlet) -> None:
    assert outlet.packets() == {"output": 0, "forward": 0}
    refused = site.enrol("n1", site.fingerprint("n2"))
    assert refused.returncode != 0
    assert "host key" in refused.stderr
    assert not (site.folder / "access/known_hosts").exists()


@pytest.fixture(scope="module")
def enrolled(site: DayOne, outlet: Outlet) -> DayOne:
    """The site with a host key for each node."""
    for name in NODES:
        done = site.enrol(name, site.fingerprint(name))
        assert done.returncode == 0, done.stderr
    return site


@dataclass(frozen=True)
class Carried:
    """What the builder made: bundle and media.

    Args:
        lock: folder.
        words: of the root.
        store: of the bundle.
    """

    lock: Path
    words: str
    store: Path
    media: tuple[Path, Path, Path]
    earlier: Path
    """Medium of the sequence before."""
    foreign: Path
    """Medium for another site, of the sequence after."""


@pytest.fixture(scope="module")
def base(enrolled: DayOne) -> tuple[str, ...]:
    """Options of a lock for the signed inventory."""
    return enrolled.inventory()


def test_an_inventory_writes_nothing_but_logs_on_nodes(enrolled: DayOne) -> None:
    before = enrolled.written()
    enrolled.succeed("inventory", "collect", str(enrolled.file))
    assert enrolled.written() == before


def test_an_altered_or_unsigned_inventory_is_refused(site: DayOne, base: tuple[str, ...], tmp_path: Path) -> None:
    genuine = json.loads(Path(base[1]).read_text())
    cases = {
        "unsigned": {"inventory": genuine["inventory"]},
        "altered": genuine | {"inventory": genuine["inventory"] | {"site": "other"}},
    }
    for name, document in cases.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(document))
        done = site.run(*site.lock_arguments(name, ("--inventory", str(path), *base[2:])))
        assert (done.returncode, done.stdout) == (ExitCode.BAD_INPUT, ""), done.stderr
        assert "sign" in done.stderr
        assert not (site.outside / name).exists()


@pytest.fixture(scope="module")
def carried(site: DayOne, base: tuple[str, ...]) -> Carried:
    """Lock twice, hold the ceremony, and write the bundle to three media."""
    lock, again = site.lock("locks", base), site.lock("locks-again", base)
    assert contents(lock) == contents(again)
    words = site.ceremony()
    earlier = site.build_small("earlier", sequence=SEQUENCE - 1)
    foreign = site.build_small("foreign", sequence=SEQUENCE + 1, site="other-bank")
    store = site.build("bundle", site.fetch(lock), lock, sequence=SEQUENCE)
    first, second, third = site.media(store, "stick1", "stick2", "stick3", size="300MB")
    return Carried(lock, words, store, (first, second, third), earlier, foreign)


@pytest.fixture(scope="module")
def published(site: DayOne, carried: Carried) -> Carried:
    """Import with one medium lost, one byte flipped and one process killed; a second person approves."""
    first, second, lost = carried.media
    flipped = flip_a_byte(second)
    site.write_policy()
    without = site.receive(second, first)
    assert without.returncode != 0
    assert "--expect-sequence" in without.stderr
    expected = ("--expect-sequence", str(SEQUENCE), "--expect-root", carried.words)
    clocks = {"2019-05-01 00:00:00": "the clock is wrong: it is 2019-05-01", "+200d": "the signatures have expired"}
    for when, reason in clocks.items():
        refused = site.receive(second, first, options=expected, clock=clock_at(site.outside / "faketime", when))
        assert refused.returncode != 0
        assert reason in refused.stderr
    assert site.receive(second, first, options=expected).returncode == 1
    missing = set(site.missing.read_text().split())
    assert missing == {flipped} | {chunk.name for chunk in lost.glob("chunks/*/*")}
    (more,) = site.media(carried.store, "stick4", size="400MB", only=site.missing)
    site.kill_while_receiving(more)
    assert site.receive(more).returncode == 0
    shown = site.show()
    assert {each["change"] for each in shown["differences"]} == {"added"}
    assert shown["nodes"]
    assert all(shown["nodes"].values())
    assert "another person" in site.approve(IMPORTER).stderr
    assert site.approve(APPROVER).returncode == 0
    site.succeed("mirror", "select", str(SEQUENCE), "--into", str(site.store), "--site", str(site.file))
    return carried


def test_the_published_snapshot_equals_the_lock(site: DayOne, published: Carried) -> None:
    locked = {each.path: each.sha256 for each in read_lock(published.lock)[0]}
    assert locked.items() <= contents(site.store / "current").items()


def test_an_earlier_and_a_foreign_medium_are_refused(site: DayOne, published: Carried) -> None:
    before = contents(site.store / "current")
    reasons = {
        published.earlier: "rollback",
        published.foreign: "the bundle is for site 'other-bank'",
    }
    for medium, reason in reasons.items():
        refused = site.receive(medium)
        assert refused.returncode != 0
        assert reason in refused.stderr
    assert contents(site.store / "current") == before


def test_the_plan_names_exactly_what_nodes_with_sshd_lack(site: DayOne, published: Carried) -> None:
    found = defaultdict(set)
    for change in site.changes().values():
        found[change["node"]].add(change["kind"])
    assert found == PLANNED


@pytest.fixture(scope="module")
def applied(site: DayOne, published: Carried) -> DayOne:
    """The site after its first apply."""
    site.provision()
    assert site.applied is not None
    assert site.applied.returncode == 0, site.applied.stderr
    return site


@complete
def test_the_second_plan_is_empty(applied: DayOne) -> None:
    assert applied.changes() == {}


@complete
def test_nodes_got_packages_wheels_and_models_over_tls_from_the_mirror(applied: DayOne) -> None:
    lines = applied.on(MIRROR, f"{REQUESTS} | grep -F 10.77.0.11").splitlines()
    for folder in ("apt/debian-12-amd64/", "wheels/", "models/echo/"):
        assert any(f"/{folder}" in line and '" 200 ' in line for line in lines), folder


@complete
def test_a_reboot_leaves_the_plan_empty(applied: DayOne) -> None:
    names = ("n2", MIRROR)
    before = {name: applied.on(name, "cat /proc/sys/kernel/random/boot_id") for name in names}
    for name in names:
        applied.on(name, "sudo systemd-run --quiet --on-active=1 systemctl reboot")
    for name, boot in before.items():
        wait_for(f"reboot of {name}", partial(_is_up_again, applied, name, boot), limit_s=120)
    assert applied.changes() == {}


def _is_up_again(site: DayOne, name: str, boot: str) -> bool:
    return site.on(name, "cat /proc/sys/kernel/random/boot_id", accept=(0, 255)) not in ("", boot)


def test_no_packet_left_the_site(site: DayOne, published: Carried, outlet: Outlet) -> None:
    assert outlet.packets() == {"output": 0, "forward": 0}
    for name in NODES:
        assert "unreachable" in site.on(name, "ip route get 1.1.1.1 2>&1", accept=(2,))
