"""What people and crashes do to a node: a worker is killed, three things are changed by hand; all of it is mended."""

from __future__ import annotations

import pytest
from lab_site import POOL_LIMIT_S, POOL_UNIT, SENT, LabSite, wait_for

pytestmark = pytest.mark.lab

FLAGS = "/etc/sovctl/pools/chat.yaml"
PACKAGE, OTHER_VERSION = "nvidia-fabricmanager", "580.173.02-1"


def test_a_killed_worker_takes_all_ranks_with_it_and_the_unit_starts_again(site: LabSite) -> None:
    before = site.workers()
    assert len(before) == 2, "expected one worker per GPU of tensor_parallel_size 2"
    restarts = int(site.unit("n1", POOL_UNIT, "NRestarts"))
    site.on("n1", f"sudo kill -9 {before[0]}")
    wait_for("the unit to start again", lambda: _has_restarted(site, restarts), limit_s=POOL_LIMIT_S)
    wait_for("the old ranks to be gone", lambda: not set(before) & site.processes("n1"), limit_s=30)
    site.wait_for_pool()
    assert len(site.workers()) == len(before)


def test_three_things_broken_by_hand_are_exactly_what_plan_names_and_apply_mends(site: LabSite) -> None:
    site.on("n1", "sudo apt-get update -qq")
    site.on(
        "n1",
        "sudo DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --allow-change-held-packages "
        f"{PACKAGE}={OTHER_VERSION} >/dev/null",
    )
    handle = site.on("n1", "sudo nft -a list chain inet sovctl output | sed -n 's/.*udp dport 123.*# handle //p'")
    site.on("n1", f"sudo nft delete rule inet sovctl output handle {handle}")
    site.on("n1", "sudo sed -i 's/^max-num-seqs: .*/max-num-seqs: 4/' /etc/sovctl/pools/chat.yaml")

    found = site.changes()
    # Fabric manager refuses to run beside another driver's version, so its service is down: seen, not guessed.
    assert set(found) == {
        f"n1/package/{PACKAGE}",
        f"n1/service/{PACKAGE}",
        "n1/perimeter/firewall",
        "n1/pool/chat",
    }
    package, wall, pool = (found[f"n1/{name}"] for name in (f"package/{PACKAGE}", "perimeter/firewall", "pool/chat"))
    assert package["before"]["version"] == OTHER_VERSION
    assert set(wall["after"]) == {"rules"}
    assert len(set(wall["after"]["rules"]) - set(wall["before"]["rules"])) == 1
    cause = "its process is older than /etc/sovctl/pools/chat.yaml"
    assert pool["before"] == {"max-num-seqs": 4, "runs_what_is_written": cause}
    assert pool["after"] == {"max-num-seqs": 8, "runs_what_is_written": True}
    site.apply()
    assert site.changes() == {}
    assert site.chat("private", SENT, stream=True) == {"text": SENT, "route": "pool"}


def test_a_server_with_other_flags_than_its_restored_file_is_named_and_restarted(site: LabSite) -> None:
    """The file has its old content and time again, so only the process shows its flags."""
    site.on("n1", f"sudo cp -p {FLAGS} /tmp/flags && sudo sed -i 's/^max-num-seqs: .*/max-num-seqs: 4/' {FLAGS}")
    site.on("n1", f"sudo systemctl restart {POOL_UNIT}")
    pid = site.unit("n1", POOL_UNIT, "MainPID").strip()
    wait_for("the server's arguments", lambda: "serve" in _arguments(site, pid), limit_s=60)
    site.on("n1", f"sudo cp -p /tmp/flags {FLAGS} && sudo rm /tmp/flags")
    assert _arguments(site, pid)[_arguments(site, pid).index("--max-num-seqs") + 1] == "4"

    found = site.changes()
    assert set(found) == {"n1/pool/chat"}
    before, after = found["n1/pool/chat"]["before"], found["n1/pool/chat"]["after"]
    assert set(before) == {"running_flags"}
    assert set(before["running_flags"]) - set(after["running_flags"]) == {"max-num-seqs 4"}
    assert set(after["running_flags"]) - set(before["running_flags"]) == {"max-num-seqs 8"}
    site.apply()
    assert site.changes() == {}


def test_an_unknown_file_of_etc_is_reported_until_it_is_gone(site: LabSite) -> None:
    """No resource and no survey names this place; the baseline that apply recorded does."""
    site.on("n1", "sudo install -D -m 644 /dev/null /etc/opt/unknown/settings")
    assert any(each.startswith("n1/") and each.endswith("//etc/opt/unknown/settings") for each in _unmanaged(site))
    site.on("n1", "sudo rm -r /etc/opt/unknown")
    assert not any("unknown" in each for each in _unmanaged(site))


def _unmanaged(site: LabSite) -> set[str]:
    return {each["id"] for each in site.run_json("plan", str(site.file))["unmanaged"]}


def _arguments(site: LabSite, pid: str) -> list[str]:
    return site.on("n1", f"sudo cat /proc/{pid}/cmdline").split("\0")


def _has_restarted(site: LabSite, restarts: int) -> bool:
    return int(site.unit("n1", POOL_UNIT, "NRestarts")) > restarts
