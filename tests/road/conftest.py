"""The road: one lab, planned and applied once by the real commands; every test leaves the site whole again.

The files are numbered because they share that site: first what a new site is, then what is done to it, and last what
takes a pool or a node down.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from road_site import RoadSite


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoadSite]:
    """The site, fresh; a crashed lab of an earlier run is cleaned first."""
    made = RoadSite(tmp_path_factory.mktemp("road") / "site")
    try:
        made.make()
        yield made
    finally:
        made.down()
