"""Script that takes or releases the lock of a node; sent to `python3 -I -` on the node, standard library only.

    argument: {"action": "take"|"release", "holder": {...}, "expires_s", "wait_s", "break", "folder", "proc"}
    output:   {"state": "taken", "broken": holder or null} | {"state": "held", "holder"}
              | {"state": "running", "programs": [...]} | {"state": "released"}

- The record is in /run, because a restart of the node ends every step of an apply too.
- A record of the same controller and host is replaced: its run ended, because the site's lock allows only one.
- `expires` is seconds since boot (CLOCK_BOOTTIME), because an apply may correct the node's clock.
- Steps of an earlier run may outlive their ssh connection. The script waits for them. `BECOME-SUCCESS` is Ansible's
  marker in the command line of every step with sudo.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from typing import Any

MARKER = b"BECOME-SUCCESS-"
POLL_S = 0.5


def main(job: dict[str, Any]) -> dict[str, Any]:
    """Take or release the lock."""
    os.makedirs(job["folder"], mode=0o755, exist_ok=True)
    path = os.path.join(job["folder"], "apply.json")
    with open(os.path.join(job["folder"], "apply.guard"), "w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        found = _read(path)
        mine, holder = job["holder"], (found or {}).get("holder") or {}
        is_ours = all(holder.get(key) == mine[key] for key in ("controller", "host"))
        if job["action"] == "release":
            if is_ours and holder.get("run") == mine["run"]:
                os.unlink(path)
            return {"state": "released"}
        is_live = found is not None and found["expires"] > _now()
        if is_live and not is_ours and not job["break"]:
            return {"state": "held", "holder": holder}
        _write(path, {"holder": mine, "expires": _now() + job["expires_s"]})
    until = time.monotonic() + job["wait_s"]
    while programs := _steps(job["proc"]):
        if time.monotonic() > until:
            return {"state": "running", "programs": programs}
        time.sleep(POLL_S)
    return {"state": "taken", "broken": holder if is_live and not is_ours else None}


def _now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _read(path: str) -> dict[str, Any] | None:
    try:
        with open(path) as file:
            found = json.load(file)
        return {"holder": dict(found["holder"]), "expires": float(found["expires"])}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: str, record: dict[str, Any]) -> None:
    with open(path + ".new", "w") as file:
        json.dump(record, file)
    os.replace(path + ".new", path)


def _steps(proc: str) -> list[str]:
    """Return the names of programs that steps of Ansible run, without their arguments."""
    steps, names, parents = set(), {}, {}
    for name in os.listdir(proc):
        if not name.isdigit():
            continue
        try:
            with open(os.path.join(proc, name, "cmdline"), "rb") as file:
                command = file.read()
            with open(os.path.join(proc, name, "stat"), "rb") as file:
                head, _, tail = file.read().rpartition(b")")
        except OSError:
            continue  # it ended
        names[name] = head.partition(b"(")[2].decode(errors="replace")
        parents[name] = tail.split()[1].decode()
        if MARKER in command and tail.split()[0] != b"Z":
            steps.add(name)
    children = [names[pid] for pid in names if parents[pid] in steps and pid not in steps]
    return sorted(set(children or [names[pid] for pid in steps]))


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
