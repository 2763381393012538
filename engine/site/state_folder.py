"""Where sovctl keeps what it must remember about a site: one folder beside site.yaml.

.sovctl/
  keys/       private keys of this controller, mode 0600
  pki/        the site's own certificate authority and what it issued
  facts/      the newest capture of every node, raw
  plans/      plan files
  journal/    one file per apply run, one JSON line per event
  evidence/   what verify saw          ledger/  the Merkle log          reports/  what auditors get
  lock        held while something changes the site
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sovctl.support.errors import Busy, InputError

HINT = "wait until it is done; when it was killed, what it began on the nodes goes on to the end of its step"


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
        self.journal = root / "journal"
        self.evidence = root / "evidence"
        self.ledger = root / "ledger"
        self.reports = root / "reports"
        self.ssh = root / "ssh"

    @classmethod
    def beside(cls, site_file: Path, state: Path | None = None) -> SiteState:
        """The state of the site described by `site_file`, unless `state` names another folder."""
        return cls(state if state is not None else site_file.resolve().parent / ".sovctl")

    def prepare(self) -> SiteState:
        """Make the folder, closed to everybody else.

        Raises:
            InputError: it cannot be made there, or is no folder.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self.root.chmod(0o700)
        except OSError as error:
            raise InputError(
                f"expected a folder to keep state in, got: {(error.strerror or 'no access').lower()}",
                where=str(self.root),
                hint="name one that you may write to: --state DIR",
            ) from None
        return self

    @property
    def plan_file(self) -> Path:
        """Where `sovctl plan` saves and `sovctl apply` looks, unless told otherwise."""
        return self.plans / "plan.json"

    @contextmanager
    def exclusive(self, purpose: str) -> Iterator[int]:
        """Hold the site's lock; the kernel lets go of it when this process ends, however it ends.

        Yields:
            The lock's descriptor. A child that is given it holds the lock too, until it ends itself.

        Raises:
            Busy: another sovctl holds it.
        """
        self.prepare()
        with (self.root / "lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                holder = file.read().strip() or "another sovctl"
                raise Busy(f"{holder} is changing this site", where=str(self.root / "lock"), hint=HINT) from None
            file.truncate(0)
            file.write(f"sovctl {purpose} (process {os.getpid()})")
            file.flush()
            yield file.fileno()
            file.truncate(0)
