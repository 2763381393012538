"""For all engine tests: captures of real machines, where they are at hand; and this folder on the path of imports."""

from pathlib import Path

import pytest

_CAPTURES = Path(__file__).resolve().parents[2].parent / "shared" / "fixtures"


@pytest.fixture
def captures() -> Path:
    """Folder of captured tool output; see its SOURCES.md."""
    if not _CAPTURES.is_dir():
        pytest.skip("no captures beside this checkout")
    return _CAPTURES
