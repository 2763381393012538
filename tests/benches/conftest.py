"""Makes `bench` importable here without putting the whole tree on the path."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

if importlib.util.find_spec("bench") is None:
    _bench = ModuleType("bench")
    _bench.__path__ = [str(Path(__file__).resolve().parents[2] / "bench")]
    sys.modules["bench"] = _bench
