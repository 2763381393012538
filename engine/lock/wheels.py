"""Locks Python environments: one wheel for each package of a hashed lock of the catalogue, with size and SHA-256.

uv resolves the lock of the catalogue for the Python, the architecture and the glibc of the nodes (PEP 751 output).
Dependencies that a lock leaves out on purpose are named, with the reason, in a file `.left-out` next to it. The chosen
wheels must have a digest that the catalogue's lock permits. Source distributions are refused, because nodes do not
compile Python packages.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_wheel_filename

from sovctl.support.errors import MissingTool

from ..catalog.figure import read_catalog
from . import programs
from .licences import stated_licence
from .part import LockedPackage
from .refused import LockRefused

_NEWEST_GLIBC = 40
"""Newest `manylinux_2_N` of uv 0.13; a newer glibc runs its wheels too."""
_LEGACY = ("manylinux2014", "manylinux2010", "manylinux1", "linux")  # PEP 600
_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})\b")
_CUDA_FLOOR = {"12": 525, "13": 580}
"""Oldest driver branch by major version of CUDA: NVIDIA CUDA release notes, table of toolkit and driver versions."""
_CUDA_PACKAGE = re.compile(r"^nvidia-[a-z0-9-]+-cu(?P<major>\d+)==", re.MULTILINE)
_CUDA_RUNTIME = re.compile(r"^nvidia-cuda-runtime==(?P<major>\d+)\.", re.MULTILINE)


@dataclass(frozen=True)
class Platform:
    """Platform of the nodes that an environment is installed on.

    Args:
        python: `3.11`.
        machine: as `uname -m` prints it.
        glibc: `2.36`.
    """

    python: str
    machine: str
    glibc: str

    @property
    def name(self) -> str:
        """Name of the platform for uv."""
        return f"{self.machine}-manylinux_2_{min(self._minor, _NEWEST_GLIBC)}"

    @property
    def _minor(self) -> int:
        return int(self.glibc.split(".")[1])

    def tags(self) -> list[Tag]:
        """Return the tags of wheels that the platform accepts, best first (PEP 425, PEP 600)."""
        version = tuple(int(each) for each in self.python.split(".")[:2])
        tags = [f"manylinux_2_{minor}_{self.machine}" for minor in range(self._minor, 4, -1)]
        tags += [f"{name}_{self.machine}" for name in _LEGACY]
        return [*cpython_tags(version, platforms=tags), *compatible_tags(version, f"cp{version[0]}{version[1]}", tags)]


@dataclass(frozen=True)
class WheelSources:
    """Places of wheels.

    Args:
        index: URL of the default index; None for that of uv, which is PyPI.
        links: folders or pages with further wheels, such as CPU builds of torch.
    """

    index: str | None = None
    links: tuple[str, ...] = ()

    def size_of(self, file: str) -> int | None:
        """Return the size of a file in one of the folders, bytes; None if it is in none of them."""
        paths = (Path(each) / file for each in self.links if "://" not in each)
        return next((path.stat().st_size for path in paths if path.is_file()), None)

    def options(self) -> list[str]:
        """Return the options of uv. Only the first index that has a package is used for it."""
        words = ["--index-strategy", "first-index"]
        words += ["--no-index"] if self.index == "" else ["--default-index", self.index] if self.index else []
        return words + [word for each in self.links for word in ("--find-links", each)]


class Uv:
    """uv with a private cache, and without configuration of the builder."""

    def __init__(self, cache: Path) -> None:
        beside = Path(sys.executable).parent / "uv"
        self.program = str(beside) if beside.is_file() else shutil.which("uv")
        if self.program is None:
            raise MissingTool("command `uv` not found", hint="pip install 'sovctl[lock]'")
        self.cache = cache

    def run(self, *words: str, without_network: bool = False) -> programs.Result:
        """Run a command of uv."""
        assert self.program is not None
        argv = [self.program, *words, "--no-config", "--no-python-downloads", "--cache-dir", str(self.cache)]
        return programs.run(argv, extra={}, hint="pip install 'sovctl[lock]'", without_network=without_network)

    def version(self) -> str:
        """Return the version, such as `0.13.8`."""
        return self.run("--version").stdout.split()[1]


def compile_lock(
    uv: Uv, lock: Path, platform: Platform, sources: WheelSources, *, where: str, offline: bool = False
) -> dict[str, Any]:
    """Return the PEP 751 document of a hashed lock on a platform.

    Args:
        offline: use the metadata in the cache only, in a network namespace without routes if there is one.

    Raises:
        LockRefused: uv cannot resolve the lock; contains its sentences.
    """
    with tempfile.TemporaryDirectory(prefix="sovctl-wheels-") as folder:
        target = Path(folder) / "pylock.toml"
        words = ["pip", "compile", str(lock), "--quiet", "--no-header", "--format", "pylock.toml", "-o", str(target)]
        words += ["--python-version", platform.python, "--python-platform", platform.name, "--only-binary", ":all:"]
        words += sources.options() + (["--offline"] if offline else [])
        if names := _left_out(lock):
            overrides = Path(folder) / "overrides.txt"
            overrides.write_text("".join(f"{name} ; python_version < '3'\n" for name in names))
            words += ["--overrides", str(overrides)]
        done = uv.run(*words, without_network=offline and programs.can_isolate())
        if done.exit_code != 0:
            sentences = " ".join(done.stderr.split()) or f"uv ended with {done.exit_code}"
            hint = "choose another release in site.yaml, or add a place of wheels with --find-links"
            raise LockRefused([sentences], where=where, hint=hint)
        return tomllib.loads(target.read_text())


def locked_wheels(
    document: Mapping[str, Any], lock: Path, platform: Platform, sources: WheelSources, *, where: str
) -> tuple[LockedPackage, ...]:
    """Return one wheel for each package, sorted by name. The size of a wheel in a folder is that of its file.

    Raises:
        LockRefused: a package has no wheel for the platform, no size, or a digest outside the catalogue's lock.
    """
    permitted, order = _permitted(lock.read_text()), {tag: number for number, tag in enumerate(platform.tags())}
    licences = read_catalog("wheel_licences")["licences"]
    reasons: list[str] = []
    found = []
    for row in document["packages"]:
        name, version = canonicalize_name(row["name"]), row["version"]
        best = _best(row.get("wheels", ()), order)
        if best is None:
            has_source = "; it has a source distribution only" if "sdist" in row and not row.get("wheels") else ""
            reasons.append(f"{name} {version} has no wheel for {platform.name}, Python {platform.python}{has_source}")
            continue
        file, sha256 = _file_name(best), best["hashes"].get("sha256", "")
        size = best.get("size") or sources.size_of(file)
        if size is None or sha256 not in permitted.get((name, version), frozenset()):
            reasons.append(f"{file}: no size, or another SHA-256 than in {lock.name}")
            continue
        licence, redistributable = stated_licence(licences.get(f"{name}=={version}"))
        url = str(best.get("url", ""))
        url = "" if url.startswith("file:") else url
        found.append(
            LockedPackage(
                name, version, "", f"wheels/{file}", int(size), sha256,
                urlsplit(url).hostname or "folder of wheels", url, licence, redistributable,
            )
        )  # fmt: skip
    if reasons:
        raise LockRefused(sorted(reasons), where=where, hint="choose another release in site.yaml")
    return tuple(sorted(found, key=lambda each: each.name))


def driver_floor(lock: Path) -> int | None:
    """Return the oldest driver branch for the CUDA libraries of a lock; None without CUDA libraries."""
    text = lock.read_text()
    majors = {match["major"] for pattern in (_CUDA_PACKAGE, _CUDA_RUNTIME) for match in pattern.finditer(text)}
    return max((_CUDA_FLOOR[major] for major in majors if major in _CUDA_FLOOR), default=None)


def _left_out(lock: Path) -> list[str]:
    """Return the names of dependencies that a lock leaves out."""
    file = lock.with_suffix(".left-out")
    lines = file.read_text().splitlines() if file.is_file() else []
    return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def _permitted(text: str) -> dict[tuple[str, str], frozenset[str]]:
    found = {}
    for line in text.replace("\\\n", " ").splitlines():
        if match := _PIN.match(line.strip()):
            found[canonicalize_name(match[1]), match[2]] = frozenset(_HASH.findall(line))
    return {(str(name), version): digests for (name, version), digests in found.items()}


def _best(wheels: Sequence[Mapping[str, Any]], order: Mapping[Tag, int]) -> Mapping[str, Any] | None:
    ranked = []
    for wheel in wheels:
        numbers = [order[tag] for tag in _tags(wheel) if tag in order]
        if numbers:
            ranked.append((min(numbers), _file_name(wheel), wheel))
    return min(ranked, key=lambda each: each[:2])[2] if ranked else None


def _tags(wheel: Mapping[str, Any]) -> Iterator[Tag]:
    yield from parse_wheel_filename(_file_name(wheel))[3]


def _file_name(wheel: Mapping[str, Any]) -> str:
    place = str(wheel.get("name") or wheel.get("url") or wheel.get("path"))
    return unquote(urlsplit(place).path.rpartition("/")[2])
