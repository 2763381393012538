"""A builder outside, and the site that imports its bundles, on a machine without a virus scanner."""

from __future__ import annotations

from pathlib import Path

import pytest
from bundle_specimens import Builder
from intake_specimens import Site, without_scanner


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Builder:
    without_scanner(monkeypatch)
    return Builder(tmp_path / "outside")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "site")
