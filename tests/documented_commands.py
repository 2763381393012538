"""The commands that README.md, docs/first-week.md and docs/commands show, and where each of them is run.

- Commands in `IN_THE_LAB` run against real nodes: `tests/end_to_end`.
- All others run in `tests/test_documented_commands.py`, page by page in the order of the page.

A new line in a page fails a test until one of the two runs it.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMAND_PAGES = sorted(set((ROOT / "docs/commands").glob("*.md")) - {ROOT / "docs/commands/README.md"})
FIRST_WEEK = ROOT / "docs" / "first-week.md"
PAGES = {"README": ROOT / "README.md", "first-week": FIRST_WEEK} | {path.stem: path for path in COMMAND_PAGES}

IN_THE_LAB = {
    "README": (
        "sovctl plan site.yaml",
        "sovctl lab shell n1 -- sudo nft flush ruleset",
        "sovctl apply site.yaml",
        "sovctl verify site.yaml",
        "sovctl report site.yaml",
        "sovctl audit verify .sovctl",
        "sovctl lab down",
    ),
    "apply": ("sovctl apply site.yaml --yes",),
    "doctor": ("sovctl doctor site.yaml --nodes",),
    "drift": ("sovctl drift site.yaml --limit n2 --jsonl",),
    "first-week": (
        "sovctl inventory collect site.yaml",
        "sovctl inventory export site.yaml --sign site.key -o inventory.json --pseudonyms",
        "sovctl doctor site.yaml --nodes",
        "sovctl plan site.yaml",
        "sovctl apply site.yaml",
        "sovctl verify site.yaml",
        "sovctl report site.yaml",
    ),
    "golden": (
        "sovctl golden record site.yaml",
        "sovctl golden record site.yaml --pool chat --replace",
        "sovctl golden show site.yaml",
        "sovctl verify site.yaml --level burn-in --check pool.golden-tokens",
    ),
    "inventory": (
        "sovctl inventory collect site.yaml",
        "sovctl inventory export site.yaml --sign site.key -o inventory.json --pseudonyms",
        "sovctl inventory verify inventory.json --key site.vkey",
    ),
    "lab": (
        "sovctl lab check",
        "sovctl lab up --directory lab-site",
        "sovctl lab fault n1 nvlink-down",
        "sovctl lab fault fabric fabric-cables-swapped",
        "sovctl lab fault fabric --clear",
        "sovctl lab down",
        "sovctl lab shell n1 -- sudo nft list ruleset",
        "sovctl lab fabric -- ibqueryerrors",
    ),
    "plan": ("sovctl plan site.yaml --node n2",),
    "report": ("sovctl report site.yaml", "sovctl report --state .sovctl --run 20261121T101500Z-3fa9 --json"),
    "verify": (
        "sovctl verify site.yaml",
        "sovctl verify site.yaml --node n1 --check 'perimeter.*' --check gpu.ecc",
        "sovctl verify site.yaml --json",
    ),
}

_COMMAND = re.compile(r"(?:^ {4}|^)(?:\w*\$ +)?(?:[^\s=]*/)?(sovctl [^#\n]+)", re.MULTILINE)


def typed(page: Path) -> list[str]:
    """Every `sovctl ...` that a page shows, in its order."""
    return [line.strip() for line in _COMMAND.findall(page.read_text()) if not line.startswith("sovctl:")]
