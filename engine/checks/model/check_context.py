"""What expectations are derived from: the site's description, the catalogue and the day, all plain values.

Nothing here looks at a node. `Context` is the plan's own view of the site, so that what verify expects and what apply
brings about are one thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from ...resources.context import Context

CONTROLLER = "site"
"""Target of checks that look at this controller and not at a node."""


@dataclass(frozen=True)
class Controller:
    """What the site keeps on this machine; absolute paths.

    Args:
        program: the running `sovctl`.
        site_file: the site.yaml that is checked.
        state: the site's state folder.
        ledger: folder of the site's ledger.
        private_files: files that must be there and private: the ssh key, secrets that site.yaml refers to.
        private_patterns: (folder, glob) of further private files.
        root_certificate: of the site's authority.
    """

    program: str
    site_file: str
    state: str
    ledger: str
    private_files: tuple[str, ...]
    private_patterns: tuple[tuple[str, str], ...]
    root_certificate: str


@dataclass(frozen=True)
class Estate:
    """A whole site on one day.

    Args:
        today: UTC; exceptions of the perimeter end on a day, and so does the root certificate.
    """

    context: Context
    controller: Controller
    today: date
