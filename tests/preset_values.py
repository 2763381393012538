"""Values of a preset for tests that replace its pools."""

from __future__ import annotations

from typing import Any

import yaml

from sovctl.engine.validation.presets import FOLDER


def preset_values(name: str) -> dict[str, Any]:
    """Return the values of a preset without `monitoring`, whose objectives name its pools."""
    values: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    values.pop("monitoring", None)
    return values
