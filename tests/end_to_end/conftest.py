"""The site for all files of this folder.

The files are numbered because they share that site: first a new site, then changes to it, and last failures of a pool
or a node. Every test leaves the site in the desired state.
"""

from __future__ import annotations

import pytest
from lab_site import LabSite, SharedLab


@pytest.fixture(scope="module")
def site(shared_lab: SharedLab) -> LabSite:
    """Return the site, planned and applied on the shared lab."""
    return shared_lab.site()
