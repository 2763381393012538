"""Fixtures of the second lab tier: one virtual machine for all files of this folder, as `make test-vm` runs them.

The tests run only if the marker expression names `vm`, because a boot of the emulated machine takes minutes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from vm_site import NAME, VmSite


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "vm" in config.option.markexpr.split():
        return
    skip = pytest.mark.skip(reason="runs with `make test-vm` only")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VmSite]:
    """Yield the site on the virtual machine, not planned. The lab is removed at the end, except with SOVCTL_KEEP_VM."""
    made = VmSite(tmp_path_factory.mktemp("vm-site"))
    try:
        made.up()
        yield made
    finally:
        if "SOVCTL_KEEP_VM" not in os.environ:
            made.succeed("lab", "down", "--name", NAME)
