"""Changes of files and folders that sovctl writes: content, mode, owner, group, type and flags."""

from __future__ import annotations

from collections.abc import Iterator

from .kind import Kind

RESOURCES = {
    "/etc/apt/sources.list.d/sovctl.sources": "repository/site-mirror",
    "/etc/apt/keyrings/sovctl.asc": "repository/site-mirror",
    "/etc/apt/apt.conf.d/99sovctl": "repository/site-mirror",
    "/etc/sysctl.d/90-sovctl.conf": "tuning/kernel",
    "/etc/security/limits.d/90-sovctl.conf": "tuning/limits",
    "/etc/chrony/chrony.conf": "clock/chrony",
    "/etc/nftables.conf": "perimeter/firewall",
}
"""Row of the content, by file of every node."""
ATTRIBUTES = {
    "mode": ("mode", "chmod 0666 {path}"),
    "owner": ("uid", "chown 1000 {path}"),
    "group": ("gid", "chgrp 1000 {path}"),
    "immutable": ("is_locked", "chattr +i {path}"),
}
"""Key in the row and command, by name."""
FOLDERS = ("/etc/apt/apt.conf.d", "/etc/chrony", "/etc/sysctl.d", "/etc/systemd/system", "/opt/sovctl")


def kinds() -> Iterator[Kind]:
    """Yield the kinds; files of n1 and s1 in turn."""
    for number, (path, row) in enumerate(RESOURCES.items()):
        node = ("n1", "s1")[number % 2]
        for name, (key, command) in ATTRIBUTES.items():
            inject, attributes = command.format(path=path), f"{node}/attributes/{path}"
            yield Kind(f"{node}/{name}{path}", node, inject, attributes, key)
        # The line is a comment in each of these formats, except in a key, which becomes unreadable.
        yield Kind(f"{node}/content{path}", node, f"echo '# x' >> {path}", f"{node}/{row}")
        yield Kind(f"n2/removed{path}", "n2", f"rm {path}", f"n2/{row}", subject=path)
    for path in FOLDERS:
        node = "n1" if path == "/opt/sovctl" else "n2"
        yield Kind(f"{node}/mode{path}", node, f"chmod 0777 {path}", f"{node}/attributes/{path}", "mode")
        yield Kind(f"s1/owner{path}", "s1", f"chown 1000 {path}", f"s1/attributes/{path}")
        yield Kind(f"n1/group{path}", "n1", f"chgrp 1000 {path}", f"n1/attributes/{path}")
    yield from _others()


def _others() -> Iterator[Kind]:
    limits = "/etc/security/limits.d/90-sovctl.conf"
    yield Kind("n2/append-only/limits.d", "n2", f"chattr +a {limits}", f"n2/attributes/{limits}", subject=limits)
    link = "cd /etc/sysctl.d; cp 90-sovctl.conf /var/tmp/s; ln -sf /var/tmp/s 90-sovctl.conf"
    yield Kind("n1/link/sysctl.d", "n1", link,
               "n1/attributes//etc/sysctl.d/90-sovctl.conf", "link", also=("n1/tuning/kernel",),
               subject="sysctl")  # fmt: skip
    secrets, config = "/etc/sovctl/secrets", "/etc/sovctl/gateway.yaml"
    yield Kind("s1/mode/secrets", "s1", f"chmod 0755 {secrets}", f"s1/attributes/{secrets}")
    yield Kind("s1/group/etc-sovctl", "s1", "chgrp 0 /etc/sovctl", "s1/attributes//etc/sovctl")
    yield Kind("s1/mode/gateway.yaml", "s1", f"chmod 0644 {config}", f"s1/attributes/{config}", "mode")
    yield Kind("s1/immutable/gateway.yaml", "s1", f"chattr +i {config}", f"s1/attributes/{config}", "is_locked")
    data = "/var/lib/sovctl/gateway"
    yield Kind("s1/mode/gateway-data", "s1", f"chmod 0755 {data}", f"s1/attributes/{data}")
    yield Kind("n1/mode/pools", "n1", "chmod 0777 /etc/sovctl/pools", "n1/attributes//etc/sovctl/pools")
    flags = "/etc/sovctl/pools/chat.yaml"
    yield Kind("n1/group/pool-flags", "n1", f"chgrp 0 {flags}", f"n1/attributes/{flags}")
    yield Kind("n1/owner/model-store", "n1", "chown 1000 /srv/sovctl/models", "n1/attributes//srv/sovctl/models")
