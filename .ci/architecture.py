#!/usr/bin/env python3
"""Writes the generated part of docs/architecture.md: folders from `__init__.py`, layers from `pyproject.toml`.

.ci/architecture.py            prints the page with its generated part renewed
.ci/architecture.py --write    writes it; a test compares
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
FOLDERS = ("cli", "engine", "gateway", "compliance", "support")
_BLOCK = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def folder_table() -> str:
    """Every Python folder with the first sentence of its docstring, in Markdown."""
    rows = ["| folder | responsibility |", "|---|---|"]
    for top in FOLDERS:
        for init in sorted((ROOT / top).rglob("__init__.py"), key=lambda path: path.parent.parts):
            sentence = (ast.get_docstring(ast.parse(init.read_text())) or "").split("\n\n")[0].replace("\n", " ")
            rows.append(f"| `{init.parent.relative_to(ROOT)}/` | {sentence.replace('|', chr(92) + '|')} |")
    return "\n".join(rows) + "\n"


def layer_list() -> str:
    """The layers of each package, top first, as import-linter reads them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    rows = []
    for each in contracts:
        if each["type"] == "layers":
            container = each.get("containers", ["sovctl"])[0]
            layers = " → ".join(f"`{layer.replace('sovctl.', '')}`" for layer in each["layers"])
            rows.append(f"- `{container}`: {layers}")
    return "\n".join(rows) + "\n"


def page() -> str:
    """The page with its generated parts renewed."""
    parts = {"folders": folder_table, "layers": layer_list}
    return _BLOCK.sub(lambda found: found[1] + parts[found[2]]() + found[3], PAGE.read_text())


def main() -> int:
    """Print or write the page; the exit status."""
    parser = argparse.ArgumentParser(description="Renew the generated part of docs/architecture.md.")
    parser.add_argument("--write", action="store_true", help="write the page instead of printing it")
    if parser.parse_args().write:
        PAGE.write_text(page())
    else:
        sys.stdout.write(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
