"""The imports that editors and type checkers resolve without an installation (docs/decisions/0012)."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("cli", "engine", "gateway", "compliance", "support")
ON_NODES = ("engine/lab/standins/", "engine/checks/probes/scripts/", "engine/facts/probes/node_probe.py")


def _modules(path: Path) -> list[str]:
    """The absolute module names that a file imports."""
    tree = ast.parse(path.read_text())
    names = [each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names]
    return names + [
        node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module and not node.level
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_inside_a_folder_are_relative(folder: str) -> None:
    absolute = {
        str(path.relative_to(ROOT)): name
        for path in (ROOT / folder).rglob("*.py")
        for name in _modules(path)
        if name == f"sovctl.{folder}" or name.startswith(f"sovctl.{folder}.")
    }
    assert absolute == {}


def test_no_folder_is_imported_without_the_package() -> None:
    bare = {
        str(path.relative_to(ROOT)): name
        for folder in (*FOLDERS, "bench", "tests")
        for path in (ROOT / folder).rglob("*.py")
        if not str(path.relative_to(ROOT)).startswith(ON_NODES)
        for name in _modules(path)
        if name.split(".")[0] in FOLDERS
    }
    assert bare == {}


@pytest.mark.tree
def test_every_folder_of_the_package_is_a_relative_link() -> None:
    listed = subprocess.run(["git", "ls-files", "-s", "sovctl"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a clone: the links are not listed")
    links = [line.split("\t")[1] for line in listed.stdout.splitlines() if line.startswith("120000")]
    assert {name: (ROOT / name).readlink().as_posix() for name in links} == {
        f"sovctl/{name}": f"../{name}" for name in (*FOLDERS, "inventory", "playbooks", "roles", "templates")
    }
