"""Options of kernel modules at the next start of a node, from the files of modprobe.d(5) in their order.

Options of several files accumulate, and the last value of a parameter counts. A file replaces files of the same name in
later folders.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

FOLDERS = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")
"""By precedence (modprobe.d(5), kmod 30)."""
READ = tuple(f"{folder}/*.conf" for folder in FOLDERS)


def conflicts(
    texts: Mapping[str, str | None], own: str, *, parameters: Mapping[str, str], load: Collection[str]
) -> list[str]:
    """Return the lines that change the modules of the file `own` at the next start, as `line (path)`.

    Args:
        texts: contents by path, at least of `READ`.
        own: path of the file of sovctl.
        parameters: of the module nvidia, by name; a later file with another value is a conflict.
        load: modules that the node loads; a `blacklist` or `install` line for one of them is a conflict.
    """
    found = []
    is_later = False
    for path, text in _files(texts):
        if path == own:
            is_later = True
            continue
        for line in _lines(text):
            words = line.split()
            command, module = words[0], _name(words[1]) if len(words) > 1 else ""
            values = dict(each.partition("=")[::2] for each in words[2:]) if command == "options" else {}
            overrides = module == "nvidia" and any(
                values.get(name, value) != value for name, value in parameters.items()
            )
            is_blocked = command in ("blacklist", "install") and module in {_name(each) for each in load}
            if (is_later and overrides) or is_blocked:
                found.append(f"{' '.join(words)} ({path})")
    return found


def _files(texts: Mapping[str, str | None]) -> list[tuple[str, str | None]]:
    """Return path and text of the files that count, in the order of their names."""
    chosen: dict[str, str] = {}
    for folder in reversed(FOLDERS):
        chosen |= {path.rpartition("/")[2]: path for path in texts if path.rpartition("/")[0] == folder}
    return [(chosen[name], texts[chosen[name]]) for name in sorted(chosen)]


def _lines(text: str | None) -> Iterator[str]:
    """Yield the lines without comments; a backslash at the end continues a line."""
    for raw in (text or "").replace("\\\n", " ").splitlines():
        line = raw.strip()
        if line and not line.startswith("#"):
            yield line


def _name(module: str) -> str:
    """Return the name of a module with `_`, because modprobe treats `-` and `_` as the same character."""
    return module.replace("-", "_")
