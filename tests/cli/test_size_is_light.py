"""`sovctl size` answers at once: it imports nothing heavy, however much stands beside it in the environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SITE = Path(__file__).parents[2] / "examples" / "superpod-b200" / "site.yaml"
PROGRAM = """
import contextlib, io, sys
from sovctl.cli.main import main
sys.argv = ["sovctl", "size", sys.argv[1]]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""
# sitecustomize: what Debian runs at the start of its own interpreter, whatever the program.
LIGHT = {"annotated_doc", "annotated_types", "click", "cython_runtime", "pydantic", "pydantic_core", "rfc8785", "rich",
         "shellingham", "sitecustomize", "sovctl", "typer", "typing_extensions",
         "typing_inspection", "yaml"}  # fmt: skip


def test_sizing_imports_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(SITE)], capture_output=True, text=True, check=True, timeout=60
    )
    imported = {name for name in done.stdout.split() if not name.startswith("_")} - sys.stdlib_module_names
    assert "sovctl" in imported
    assert imported <= LIGHT
