"""State folder of a site, next to site.yaml.

.sovctl/
  keys/       private keys of this controller, mode 0600
  pki/        the site's certificate authority, its certificates, and the list of revoked ones
  facts/      newest capture of each node
  plans/      plan files
  applied/    site descriptions that were applied completely
  trees/      digests of the manifests of environments and models, by node
  counters/   counters of earlier runs of `sovctl verify`, by node
  journal/    one file for each apply, one JSON line for each event
  evidence/   evidence of `sovctl verify`
  ledger/     Merkle log
  reports/    reports for auditors
  documents/  records for authorities and auditors, and bills of materials
  foreign/    imported results of other tools
  golden/     recorded tokens of pools
  evaluations/  marks of pools by the site's own questions
  scaling/    standing plan and state of autoscaling
  seeds/      installer seeds of nodes, with private host keys until they are erased
  inventory.json   status of the nodes of `sovctl inventory collect`
  waivers/    waivers and attestations in effect, as last recorded in the ledger
  nodes.json, members.json   life cycle and registry of nodes
  baselines.json   digests of the baselines of nodes
  lock        held while a command changes the site
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from sovctl.support.errors import Busy, InputError

from .lock_holder import parse, this_process

HINT = "wait until it ends"
TAKEOVER_S = 10.0
"""Maximum wait for the processes of a killed holder, seconds. The supervisor kills them in less than one."""
_RETRY_S = 0.1


class SiteState:
    """Paths under one state folder.

    Args:
        root: usually `<folder of site.yaml>/.sovctl`.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.keys = root / "keys"
        self.pki = root / "pki"
        self.facts = root / "facts"
        self.plans = root / "plans"
        self.applied = root / "applied"
        self.trees = root / "trees"
        self.counters = root / "counters"
        self.journal = root / "journal"
        self.evidence = root / "evidence"
        self.ledger = root / "ledger"
        self.reports = root / "reports"
        self.documents = root / "documents"
        self.foreign = root / "foreign"
        self.waivers = root / "waivers"
        self.ssh = root / "ssh"

    @classmethod
    def of_site(cls, site_file: Path, state: Path | None = None) -> SiteState:
        """Return the state next to `site_file`, or in the folder `state` if given."""
        return cls(state if state is not None else site_file.resolve().parent / ".sovctl")

    def prepare(self) -> SiteState:
        """Create the folder with mode 0700.

        Raises:
            InputError: it cannot be created, or is not a folder.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self.root.chmod(0o700)
        except OSError as error:
            raise InputError(
                f"cannot create the state folder: {(error.strerror or 'no access').lower()}",
                where=str(self.root),
                hint="use a writable folder: --state DIR",
            ) from None
        return self

    @property
    def inventory_file(self) -> Path:
        """Path of the status of the nodes that `sovctl inventory collect` stored."""
        return self.root / "inventory.json"

    @property
    def plan_file(self) -> Path:
        """Default path of the saved plan."""
        return self.plans / "plan.json"

    @contextmanager
    def exclusive(self, purpose: str) -> Iterator[int]:
        """Hold the site's lock. The kernel releases it when this process ends, also if it is killed.

        If the holder was killed, its lock is released when all processes that it started have ended; the call waits
        for that up to `TAKEOVER_S`.

        Yields:
            The descriptor of the lock. A child process that inherits it holds the lock until the child ends.

        Raises:
            Busy: another process holds the lock.
        """
        self.prepare()
        with (self.root / "lock").open("a+") as file:
            until = time.monotonic() + TAKEOVER_S
            while not _locked(file):
                file.seek(0)
                holder = parse(file.read())
                if holder is None or not holder.is_dead:
                    name = str(holder) if holder else "another sovctl"
                    raise Busy(f"{name} is changing this site", where=str(self.root / "lock"), hint=HINT)
                if time.monotonic() > until:
                    raise Busy(
                        f"{holder} ended, but a process that it started still holds the lock",
                        where=str(self.root / "lock"),
                        hint=f"find the process: fuser {self.root / 'lock'}",
                    )
                time.sleep(_RETRY_S)
            file.truncate(0)
            file.write(this_process(f"sovctl {purpose}").text())
            file.flush()
            yield file.fileno()
            file.truncate(0)


def _locked(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
