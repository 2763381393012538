"""Mounts, and the search for mounts below a folder."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from .process import LabFailure, run

_OCTAL = re.compile(r"\\([0-7]{3})")


def parse_mountinfo(text: str) -> list[Path]:
    """Return mount points in the order of mounting, from the text of /proc/PID/mountinfo (proc(5))."""
    points = (line.split()[4] for line in text.splitlines() if line.strip())
    return [Path(_OCTAL.sub(lambda match: chr(int(match[1], 8)), point)) for point in points]


def below(folder: Path) -> list[Path]:
    """Return the mount points at or below `folder`, newest first."""
    points = parse_mountinfo(Path("/proc/self/mountinfo").read_text())
    return [point for point in reversed(points) if point.is_relative_to(folder.absolute())]


def is_mounted(point: Path) -> bool:
    """Return whether `point` is a mount point."""
    return point.absolute() in below(point)


def mount_image(image: Path, point: Path) -> None:
    """Mount a squashfs read-only. Its loop device is removed with the mount."""
    point.mkdir(parents=True, exist_ok=True)
    run(["mount", "-t", "squashfs", "-o", "loop,ro", image, point], purpose="mount the image")


def mount_overlay(folder: Path, lower: list[Path]) -> Path:
    """Mount a writable layer over read-only trees, and return the merged tree, `folder/root`.

    Args:
        folder: for `upper`, `work` and `root`.
        lower: read-only trees, topmost first.
    """
    upper, work, root = folder / "upper", folder / "work", folder / "root"
    for path in (upper, work, root):
        path.mkdir(parents=True, exist_ok=True)
    stack = ":".join(str(path) for path in lower)
    options = f"lowerdir={stack},upperdir={upper},workdir={work}"
    run(["mount", "-t", "overlay", "overlay", "-o", options, root], purpose="mount a writable layer over the image")
    return root


def unmount_below(folder: Path) -> None:
    """Unmount all mounts at or below `folder`, newest first."""
    for point in below(folder):
        run(["umount", point], purpose=f"unmount {point.name}")


def remove_tree(folder: Path) -> None:
    """Unmount all mounts below `folder` and remove it. Contents of mounts are not removed."""
    unmount_below(folder)
    if below(folder):
        raise LabFailure(f"still mounted below {folder}: {below(folder)[0]}")
    if folder.exists():
        shutil.rmtree(folder)
