"""Mounting, and finding every mount below a folder again after a crash."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from .process import LabFailure, run

_OCTAL = re.compile(r"\\([0-7]{3})")


def parse_mountinfo(text: str) -> list[Path]:
    """Mount points in the order they were made, from the text of /proc/PID/mountinfo (proc(5))."""
    points = (line.split()[4] for line in text.splitlines() if line.strip())
    return [Path(_OCTAL.sub(lambda match: chr(int(match[1], 8)), point)) for point in points]


def below(folder: Path) -> list[Path]:
    """Mount points at or below `folder`, the newest first."""
    points = parse_mountinfo(Path("/proc/self/mountinfo").read_text())
    return [point for point in reversed(points) if point.is_relative_to(folder.absolute())]


def is_mounted(point: Path) -> bool:
    """True when something is mounted exactly there."""
    return point.absolute() in below(point)


def mount_image(image: Path, point: Path) -> None:
    """Mount a squashfs read-only; its loop device goes with it."""
    point.mkdir(parents=True, exist_ok=True)
    run(["mount", "-t", "squashfs", "-o", "loop,ro", image, point], purpose="mount the image")


def mount_overlay(folder: Path, lower: list[Path]) -> Path:
    """A writable tree over read-only ones.

    Args:
        folder: gets `upper`, `work` and `root`.
        lower: the topmost first.

    Returns:
        `folder/root`, where the merged tree is.
    """
    upper, work, root = folder / "upper", folder / "work", folder / "root"
    for path in (upper, work, root):
        path.mkdir(parents=True, exist_ok=True)
    stack = ":".join(str(path) for path in lower)
    options = f"lowerdir={stack},upperdir={upper},workdir={work}"
    run(["mount", "-t", "overlay", "overlay", "-o", options, root], purpose="lay a writable layer over the image")
    return root


def unmount_below(folder: Path) -> None:
    """Unmount everything at or below `folder`, the newest first."""
    for point in below(folder):
        run(["umount", point], purpose=f"unmount {point.name}")


def remove_tree(folder: Path) -> None:
    """Unmount everything below `folder` and remove it; never reaches into a mount."""
    unmount_below(folder)
    if below(folder):
        raise LabFailure(f"expected nothing mounted below {folder}, found {below(folder)[0]}")
    if folder.exists():
        shutil.rmtree(folder)
