"""Takes the locks of the nodes of a plan before they are observed, renews them before each change, releases them.

A separate process (`at_end.py`) releases the locks when the apply ends, also if it is killed. Another controller then
waits for steps that still run on a node (`node_script.py`).
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import asdict
from datetime import UTC, datetime

from sovctl.support.errors import Busy, NodeUnreachable
from sovctl.support.package_files import package_folder

from ...site.site import Site
from ..remote import SSH_FAILED, Answer, run_on, ssh_words
from .holder import NodeHolder, broken, problem

FOLDER = "/run/sovctl"
EXPIRES_S = 4 * 3600.0
"""Seconds until another controller may take a lock that was not renewed. A guess: longer than one wave."""
WAIT_S = 300.0
"""Maximum wait for steps of an earlier run, seconds. A guess: longer than the installation of a driver package."""
_RELEASE_S, _KILLED_RELEASE_S = 30.0, 8.0
"""Maximum time of a release, seconds, also for a killed apply, which leaves no process after 10 s. A node that does not
answer keeps its lock until `EXPIRES_S`."""
_SHOWN = 3


class NodeLocks:
    """Locks of one run.

    Args:
        run_id: of the apply.
        break_lock: replace locks of other controllers.
    """

    def __init__(self, site: Site, run_id: str, *, break_lock: bool = False) -> None:
        self._site, self._break = site, break_lock
        # Once, because a node that this run removes is not in it later, and its lock is released at the end.
        self._reachable = site.reachable
        self._holder = NodeHolder(
            controller=site.plan_key().public.keyid[:16],
            host=socket.gethostname(),
            site=site.spec.site.name,
            run=run_id,
            pid=os.getpid(),
            since=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        )
        self.run_id = run_id
        self._nodes: frozenset[str] = frozenset()
        self._renewed_s = 0.0
        self.broken: dict[str, str] = {}
        """Other controllers whose locks were replaced, by node."""

    @contextlib.contextmanager
    def held(self, nodes: Collection[str]) -> Iterator[NodeLocks]:
        """Hold the locks of nodes.

        Raises:
            Busy: another controller holds a lock, or a step of an earlier run still runs; no lock is held.
            NodeUnreachable: a node does not answer.
        """
        self._nodes = frozenset(nodes)
        with self._released_at_end():
            if silent := self._take(self._nodes):
                raise NodeUnreachable(
                    f"{len(silent)} nodes cannot be locked: {_list(silent)}",
                    hint="check that the nodes are up and accept access.key_file",
                )
            self._break = False
            yield self

    def renew(self, nodes: Collection[str]) -> dict[str, str]:
        """Renew the locks of nodes before their change. A restart of a node removed its lock.

        Returns:
            Nodes without an answer, with the reason.

        Raises:
            Busy: another controller broke a lock.
        """
        is_due = time.monotonic() - self._renewed_s > EXPIRES_S / 4
        silent = self._take(self._nodes if is_due else self._nodes & frozenset(nodes))
        return {node: reason for node, reason in silent.items() if node in nodes}

    def _take(self, nodes: Collection[str]) -> dict[str, str]:
        if nodes == self._nodes:
            self._renewed_s = time.monotonic()
        answers = self._call("take", nodes, timeout_s=WAIT_S + 10)
        silent = {node: each.error for node, each in answers.items() if each.code == SSH_FAILED}
        problems = {
            node: text for node, each in answers.items() if node not in silent and (text := problem(each.output))
        }
        if problems:
            raise Busy(
                _list(problems),
                hint="wait until it ends; if the other controller is gone for good: sovctl apply --break-lock",
            )
        given = {node: each for node, each in answers.items() if node not in silent}
        self.broken |= {node: str(holder) for node, each in given.items() if (holder := broken(each.output))}
        return silent

    @contextlib.contextmanager
    def _released_at_end(self) -> Iterator[None]:
        """Release the locks at the end of the block, or of this process."""
        argv, script = self._command("release")
        commands = [ssh_words(self._reachable, self._site.folder, node, argv) for node in sorted(self._nodes)]
        limits = {"timeout_s": _RELEASE_S, "killed_timeout_s": _KILLED_RELEASE_S}
        job = {"commands": commands, "input": script, **limits}
        program = str(package_folder("engine/apply/node_lock") / "at_end.py")
        with subprocess.Popen(
            [sys.executable, "-I", "-S", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl-C goes to the whole group of a terminal
        ) as process:
            assert process.stdin is not None
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            try:
                yield
            finally:
                with contextlib.suppress(BrokenPipeError):
                    print("end", file=process.stdin, flush=True)

    def _call(self, action: str, nodes: Collection[str], *, timeout_s: float) -> dict[str, Answer]:
        argv, script = self._command(action)
        return run_on(self._reachable, self._site.folder, nodes, argv, timeout_s=timeout_s, stdin=script)

    def _command(self, action: str) -> tuple[list[str], str]:
        """Return the command for a node, and its standard input."""
        job = {
            "action": action,
            "holder": asdict(self._holder),
            "expires_s": EXPIRES_S,
            "wait_s": WAIT_S,
            "break": self._break,
            "folder": FOLDER,
            "proc": "/proc",
        }
        script = (package_folder("engine/apply/node_lock") / "node_script.py").read_text()
        return ["/usr/bin/python3", "-I", "-", json.dumps(job)], script


def _list(problems: dict[str, str]) -> str:
    shown = "; ".join(f"{node}: {text}" for node, text in sorted(problems.items())[:_SHOWN])
    return shown + (f" and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else "")
