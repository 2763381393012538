"""What a node still has and site.yaml no longer wants there, found by the files that only sovctl writes.

A pool taken out of site.yaml would serve on, and a key of a cloud that is no longer used would lie on: a plan names
both, and apply takes them away. Data stays: weights, environments, the gateway's vault and ledger.
"""

from __future__ import annotations

from collections.abc import Iterable

from .resource import Desired, Risk

UNITS = "/etc/systemd/system/"


def orphan(kind: str, name: str, files: Iterable[str], *, why: str, risk: Risk = Risk.NONE) -> Desired:
    """A thing that must go.

    Args:
        files: everything it consists of, in the order in which they are removed; the last one goes last, so that a
            removal that was cut off is still seen by the next plan. Units among them are stopped and disabled first.
    """
    paths = list(files)
    units = [path.removeprefix(UNITS) for path in paths if path.startswith(UNITS)]
    return Desired(
        kind=kind, name=name, state=None, why=why, variables={"units": units, "files": paths}, risk=risk, minutes=0.2
    )
