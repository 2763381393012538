"""Locks the folders of models: every file of the MANIFEST whose digest is in site.yaml, with size and SHA-256.

Files that can run code are refused: pickles, Python, and configurations with `auto_map`. A person can accept one
of them by its name. Chat template and generation config change the behaviour of a model; the part names them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sovctl.support.bounded_files import read_bounded
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

from .part import LockedPackage

MANIFEST = "MANIFEST"
BEHAVIOUR = ("chat_template.jinja", "generation_config.json", "tokenizer_config.json")
"""Files whose digests a part names; a chat template can also be in tokenizer_config.json."""
_CODE = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib", ".npy", ".py", ".so", ".keras", ".h5")
"""Suffixes of files that run code when they are loaded, or can contain a pickle."""
_LINE = re.compile(r"^(?P<sha256>[0-9a-f]{64})  (?P<path>\S.*)$")
_JSON_LIMIT = 64 << 20


@dataclass(frozen=True)
class ModelFolder:
    """A folder of weights or of an adapter.

    Args:
        licence: of the catalogue; empty if the catalogue lacks the model.
        is_permitted: the licence permits the use, or site.yaml names the person who approved it.
    """

    name: str
    manifest_sha256: str
    licence: str
    is_permitted: bool


def locked_model(model: ModelFolder, folder: Path) -> tuple[LockedPackage, ...]:
    """Return all files of a model and its MANIFEST, sorted by path.

    Raises:
        InputError: the MANIFEST differs from site.yaml, or a file is absent or differs from the MANIFEST.
    """
    path = folder / model.name / MANIFEST
    try:
        data = read_bounded(path, 16 << 20)
    except OSError:
        hint = "put the model into --models, or leave models out with --omit models"
        raise InputError("no MANIFEST", where=str(path), hint=hint) from None
    if sha256_hex(data) != model.manifest_sha256:
        raise InputError(
            f"expected SHA-256 {model.manifest_sha256}, got {sha256_hex(data)}",
            where=str(path),
            hint="correct `models[].manifest_sha256` in site.yaml, or get the model again",
        )
    rows = [*_rows(data.decode(errors="replace"), path), (MANIFEST, model.manifest_sha256)]
    return tuple(_locked(model, folder / model.name, name, sha256) for name, sha256 in sorted(rows))


def _rows(text: str, where: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.match(line)
        if match is None or match["path"].startswith("/") or ".." in match["path"].split("/"):
            raise InputError("expected `sha256  path`", where=f"{where}:{number}", hint="write it with sha256sum")
        yield match["path"], match["sha256"]


def _locked(model: ModelFolder, folder: Path, name: str, expected: str) -> LockedPackage:
    file = folder / name
    if file.is_symlink() or not file.is_file():
        raise InputError("no such file", where=str(file), hint="get the model again")
    with file.open("rb") as data:
        found = hashlib.file_digest(data, "sha256").hexdigest()
    if found != expected:
        raise InputError(f"expected SHA-256 {expected}, got {found}", where=str(file), hint="get the file again")
    return LockedPackage(
        name=f"{model.name}/{name}",
        version=model.manifest_sha256[:12],
        arch="",
        path=f"models/{model.name}/{name}",
        size=file.stat().st_size,
        sha256=expected,
        source="folder of models",
        url="",
        licence=model.licence or "unknown",
        redistributable="yes" if model.is_permitted else "no",
    )


def refused_files(packages: Iterable[LockedPackage], folder: Path, accepted: Collection[str]) -> list[str]:
    """Return a line for each file that can run code and that no person accepted.

    Args:
        folder: with a folder for each model.
        accepted: names such as `llama/tokenizer.py`.
    """
    found = []
    for each in packages:
        reason = _reason(folder / each.name)
        if reason and each.name not in accepted:
            found.append(f"{each.name}: {reason}")
    return sorted(found)


def _reason(file: Path) -> str:
    if file.suffix.lower() in _CODE:
        return f"a file with suffix {file.suffix.lower()} can run code"
    if file.suffix.lower() == ".json" and file.stat().st_size <= _JSON_LIMIT:
        try:
            content = json.loads(file.read_bytes())
        except (ValueError, RecursionError):
            return "not JSON"
        if isinstance(content, dict) and "auto_map" in content:
            return "`auto_map` loads Python code of the model"
    return ""


def behaviour(packages: Iterable[LockedPackage]) -> dict[str, str]:
    """Return the digests of `BEHAVIOUR` by name."""
    return {each.name: each.sha256 for each in packages if each.name.rpartition("/")[2] in BEHAVIOUR}
