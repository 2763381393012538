"""Orphans: resources on a node that site.yaml no longer contains. They are recognized by files that only sovctl writes.

Without their removal, a pool would continue to serve and a key would remain on the node. Data is not removed: weights,
the gateway's vault and ledger. Environments are removed by `superseded_environment`.
"""

from __future__ import annotations

from collections.abc import Iterable

from .resource import Desired, Risk

UNITS = "/etc/systemd/system/"


def orphan(kind: str, name: str, files: Iterable[str], *, why: str, risk: Risk = Risk.NONE) -> Desired:
    """Return a resource to remove.

    Args:
        files: all its files, in the order of removal. As long as the last one exists, a new plan finds the orphan
            again after an interrupted removal. Units among them are stopped and disabled first.
    """
    paths = list(files)
    units = [path.removeprefix(UNITS) for path in paths if path.startswith(UNITS)]
    return Desired(
        kind=kind, name=name, state=None, why=why, variables={"units": units, "files": paths}, risk=risk, minutes=0.2
    )
