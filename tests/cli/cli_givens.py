"""States of the world that a transcript begins with, by the words in which it asks for them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from cli_sites import closed_port, lock_held, make_site, save_plan, write_captures
from ssh_doors import known_host_lines, ssh_doors


@dataclass(frozen=True)
class World:
    """Where a transcript happens; what a given starts, `stack` ends."""

    folder: Path
    stack: ExitStack


def _site(world: World) -> None:
    make_site(world.folder, ssh_port=world.stack.enter_context(closed_port()))


def _captures(world: World) -> None:
    write_captures(world.folder / "facts")


def _plan(world: World) -> None:
    save_plan(world.folder / "site.yaml")


def _empty_plan(world: World) -> None:
    save_plan(world.folder / "site.yaml", is_empty=True)


def _old_plan(world: World) -> None:
    """Signed again after its day was set back: all is well with it but its age."""
    from dataclasses import replace

    from sovctl.engine.plan import file
    from sovctl.engine.site.site import Site

    opened = Site.open(world.folder / "site.yaml", touches_nodes=False)
    old = replace(opened.saved_plan(), created="2026-01-05T08:00:00Z")
    file.write(old, opened.state.plan_file, opened.plan_key())


def _flipped_digit(world: World) -> None:
    path = world.folder / ".sovctl" / "plans" / "plan.json"
    signed = json.loads(path.read_text())
    digest = signed["plan"]["spec_sha256"]
    signed["plan"]["spec_sha256"] = digest[:-1] + ("0" if digest[-1] != "0" else "1")
    path.write_text(json.dumps(signed))


def _foreign_signature(world: World) -> None:
    """A whole plan, rightly signed, by the key of another controller."""
    from sovctl.compliance.signing import SigningKey
    from sovctl.engine.plan import file
    from sovctl.engine.site.site import Site

    opened = Site.open(world.folder / "site.yaml", touches_nodes=False)
    file.write(opened.saved_plan(), opened.state.plan_file, SigningKey.generate())


def _lock_held(world: World) -> None:
    world.stack.enter_context(lock_held(world.folder / ".sovctl"))


def _refusing_nodes(world: World) -> None:
    doors = world.stack.enter_context(ssh_doors())
    make_site(world.folder, ssh_port=doors.port)
    (world.folder / "access" / "known_hosts").write_text(known_host_lines(doors))


def _other_nodes(world: World) -> None:
    """As above, but known_hosts holds the keys of other machines."""
    doors = world.stack.enter_context(ssh_doors())
    make_site(world.folder, ssh_port=doors.port)
    (world.folder / "access" / "known_hosts").write_text(known_host_lines(doors, other_keys=True))


def _half_a_capture(world: World) -> None:
    path = world.folder / "facts" / "hgx-2.json"
    path.write_text(path.read_text()[:200])


def _spoilt_capture(world: World) -> None:
    """JSON, and shaped like a capture, but what the tools said is not in their form."""
    path = world.folder / "facts" / "hgx-2.json"
    capture = json.loads(path.read_text())
    capture["commands"]["packages"]["stdout"] = "not what dpkg-query prints\n"
    path.write_text(json.dumps(capture))


def _unmeasured_capture(world: World) -> None:
    path = world.folder / "facts" / "hgx-2.json"
    capture = json.loads(path.read_text())
    capture["commands"]["holds"] = {"exit_code": None, "stdout": "", "stderr": "command not found"}
    path.write_text(json.dumps(capture))


def _open_secret(world: World) -> None:
    (world.folder / "secrets" / "registry").chmod(0o644)


def _load_tests(world: World) -> None:
    for case in (Path(__file__).parents[1] / "cases" / "measurements").iterdir():
        shutil.copy(case, world.folder)


GIVENS: dict[str, Callable[[World], None]] = {
    "a site": _site,
    "a site whose nodes refuse our key": _refusing_nodes,
    "a site whose nodes are other machines": _other_nodes,
    "captures in facts": _captures,
    "load tests": _load_tests,
    "half a capture of hgx-2": _half_a_capture,
    "a capture of hgx-2 in another form": _spoilt_capture,
    "a capture of hgx-2 that lacks an answer": _unmeasured_capture,
    "a saved plan": _plan,
    "a saved plan without changes": _empty_plan,
    "a plan of some months ago": _old_plan,
    "a flipped digit in the plan file": _flipped_digit,
    "a plan that another controller signed": _foreign_signature,
    "an apply that runs": _lock_held,
    "a secret that others can read": _open_secret,
}
