"""Example sites on this controller."""

from pathlib import Path

import pytest
from example_sites import MakeSite, example


@pytest.fixture
def make_site(tmp_path: Path) -> MakeSite:
    """Makes an example site, by the name of its preset, in a folder of its own."""
    return lambda preset: example(preset, tmp_path / preset)
