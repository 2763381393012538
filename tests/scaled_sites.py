"""The site of `bench/scaling.py` in a folder, for tests of `sovctl scaling`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from bench.scaling import site_values


def write_site(folder: Path, **scaling: Any) -> Path:
    """Write site.yaml with changed fields of its section `scaling`, and return its path."""
    value = site_values()
    value["scaling"] = {**value["scaling"], **scaling}
    path = folder / "site.yaml"
    path.write_text(yaml.safe_dump(value))
    return path
