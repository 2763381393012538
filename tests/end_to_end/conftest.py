"""One lab for all files of this folder, planned and applied once by the real commands.

The files are numbered because they share that site: first a new site, then changes to it, and last failures of a pool
or a node. Every test leaves the site in the desired state.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lab_site import LabSite


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabSite]:
    """The site, fresh; a crashed lab of an earlier run is cleaned first."""
    made = LabSite(tmp_path_factory.mktemp("lab") / "site")
    try:
        made.make()
        yield made
    finally:
        made.down()
