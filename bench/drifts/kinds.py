"""Kinds of drift: how each is injected on a lab node, the row that must report it, and how it is restored by hand.

A kind of a managed resource is corrected by apply. An unmanaged thing is only reported, so `restore` removes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One kind of drift.

    Args:
        id: unique, such as `n1/mode/chrony.conf`.
        node: lab node.
        inject: shell command, run as root on the node.
        row: prefix of the id of the change or the unmanaged thing that must appear.
        restore: shell command that removes what apply does not correct; empty if apply corrects it.
        needs_verify: only `sovctl verify` can find it.
    """

    id: str
    node: str
    inject: str
    row: str
    restore: str = ""
    needs_verify: bool = False

    @property
    def is_unmanaged(self) -> bool:
        """Whether apply leaves it to the operator."""
        return bool(self.restore)


FILES = (
    "/etc/apt/sources.list.d/sovctl.sources",
    "/etc/apt/keyrings/sovctl.asc",
    "/etc/apt/apt.conf.d/99sovctl",
    "/etc/sysctl.d/90-sovctl.conf",
    "/etc/security/limits.d/90-sovctl.conf",
    "/etc/chrony/chrony.conf",
    "/etc/nftables.conf",
)
"""Files of every node whose attributes are managed."""
_ATTRIBUTES = {
    "mode": "chmod 0666 {path}",
    "owner": "chown 1000 {path}",
    "group": "chgrp 1000 {path}",
    "immutable": "chattr +i {path}",
}
_RESOURCES = {
    "/etc/apt/sources.list.d/sovctl.sources": "repository/site-mirror",
    "/etc/apt/keyrings/sovctl.asc": "repository/site-mirror",
    "/etc/apt/apt.conf.d/99sovctl": "repository/site-mirror",
    "/etc/sysctl.d/90-sovctl.conf": "tuning/kernel",
    "/etc/security/limits.d/90-sovctl.conf": "tuning/limits",
    "/etc/chrony/chrony.conf": "clock/chrony",
    "/etc/nftables.conf": "perimeter/firewall",
}
FOLDERS = ("/etc/apt/apt.conf.d", "/etc/chrony", "/etc/sysctl.d", "/etc/systemd/system", "/opt/sovctl")
UNITS = ("chrony", "nvidia-fabricmanager", "nvidia-persistenced")

# (name, command, kind and name of the row, command that removes it)
_UNMANAGED = (
    ("cron.d", "echo '* * * * * root true' > /etc/cron.d/drift", "cron//etc/cron.d/drift", "rm /etc/cron.d/drift"),
    ("crontab", "mkdir -p /var/spool/cron/crontabs; echo '* * * * * true' > /var/spool/cron/crontabs/root",
     "cron//var/spool/cron/crontabs/root", "rm /var/spool/cron/crontabs/root"),
    ("preload", "touch /etc/ld.so.preload", "preload//etc/ld.so.preload", "rm /etc/ld.so.preload"),
    ("shadow", "cp /bin/true /usr/local/bin/nvidia-smi", "program//usr/local/bin/nvidia-smi",
     "rm /usr/local/bin/nvidia-smi"),
    ("program", "cp /bin/true /usr/bin/drift", "program//usr/bin/drift", "rm /usr/bin/drift"),
    ("service", "printf '[Service]\\nExecStart=/bin/true\\n' > /etc/systemd/system/drift-x.service",
     "unit//etc/systemd/system/drift-x.service", "rm /etc/systemd/system/drift-x.service"),
    ("timer", "printf '[Timer]\\nOnBootSec=1h\\n' > /etc/systemd/system/drift-x.timer",
     "unit//etc/systemd/system/drift-x.timer", "rm /etc/systemd/system/drift-x.timer"),
    ("user", "echo 'drift:x:0:0::/:/bin/sh' >> /etc/passwd", "user/drift", "sed -i '/^drift:/d' /etc/passwd"),
    ("sudoers", "echo 'ALL ALL=(ALL) ALL' > /etc/sudoers.d/drift", "access//etc/sudoers.d/drift",
     "rm /etc/sudoers.d/drift"),
    ("root key", "mkdir -p /root/.ssh; echo key > /root/.ssh/authorized_keys", "access//root/.ssh/authorized_keys",
     "rm /root/.ssh/authorized_keys"),
    ("sysctl.d", "echo 'kernel.panic = 0' > /etc/sysctl.d/99-z.conf", "file//etc/sysctl.d/99-z.conf",
     "rm /etc/sysctl.d/99-z.conf"),
    ("modprobe.d", "mkdir -p /etc/modprobe.d; echo '# x' > /etc/modprobe.d/z.conf", "file//etc/modprobe.d/z.conf",
     "rm /etc/modprobe.d/z.conf"),
    ("limits.d", "echo '# x' > /etc/security/limits.d/z.conf", "file//etc/security/limits.d/z.conf",
     "rm /etc/security/limits.d/z.conf"),
    ("profile.d", "echo : > /etc/profile.d/z.sh", "file//etc/profile.d/z.sh", "rm /etc/profile.d/z.sh"),
    ("apt.conf", "echo '// x' > /etc/apt/apt.conf.d/zz", "package source//etc/apt/apt.conf.d/zz",
     "rm /etc/apt/apt.conf.d/zz"),
    ("apt pin", "mkdir -p /etc/apt/preferences.d; touch /etc/apt/preferences.d/z",
     "package source//etc/apt/preferences.d/z", "rm /etc/apt/preferences.d/z"),
    ("apt key", "touch /etc/apt/trusted.gpg.d/z.asc", "package source//etc/apt/trusted.gpg.d/z.asc",
     "rm /etc/apt/trusted.gpg.d/z.asc"),
    ("certificate", "mkdir -p /usr/local/share/ca-certificates; touch /usr/local/share/ca-certificates/z.crt",
     "file//usr/local/share/ca-certificates/z.crt", "rm /usr/local/share/ca-certificates/z.crt"),
    ("python", "echo > /usr/lib/python3/dist-packages/sitecustomize.py",
     "file//usr/lib/python3/dist-packages/sitecustomize.py", "rm /usr/lib/python3/dist-packages/sitecustomize.py"),
    ("listener", ("setsid python3 -c 'import socket,time; s=socket.socket(); s.bind((\"127.0.0.1\", 4567)); s.listen();"
     " time.sleep(3600)' >/dev/null 2>&1 & echo $! > /run/drift.pid; sleep 1"), "listener/tcp 127.0.0.1:4567",
     "kill $(cat /run/drift.pid); rm /run/drift.pid"),
    ("own folder", "touch /etc/sovctl-extra", "file//etc/sovctl-extra", "rm /etc/sovctl-extra"),
    ("udev rule", "mkdir -p /etc/udev/rules.d; touch /etc/udev/rules.d/z.rules", "file//etc/udev/rules.d/z.rules",
     "rm /etc/udev/rules.d/z.rules"),
)  # fmt: skip


def kinds() -> list[Kind]:
    """Return all kinds, in the order of the table."""
    return [*_files(), *_folders(), *_units(), *_things(), *_resources()]


def _files() -> Iterator[Kind]:
    for node in ("n1", "s1"):
        for path in FILES:
            for attribute, command in _ATTRIBUTES.items():
                yield Kind(f"{node}/{attribute}{path}", node, command.format(path=path), f"{node}/attributes/{path}")
            if path != "/etc/apt/keyrings/sovctl.asc":
                yield Kind(f"{node}/content{path}", node, f"echo '# x' >> {path}", f"{node}/{_RESOURCES[path]}")


def _folders() -> Iterator[Kind]:
    for path in FOLDERS:
        yield Kind(f"n2/mode/{path}", "n2", f"chmod 0777 {path}", f"n2/attributes/{path}")
        yield Kind(f"n2/owner/{path}", "n2", f"chown 1000 {path}", f"n2/attributes/{path}")


def _units() -> Iterator[Kind]:
    for unit in UNITS:
        drop_in = f"/etc/systemd/system/{unit}.service.d"
        command = f"mkdir -p {drop_in}; printf '[Service]\\nNice=5\\n' > {drop_in}/z.conf; systemctl daemon-reload"
        yield Kind(f"n2/drop-in/{unit}", "n2", command, f"n2/unit/{unit}.service")
        yield Kind(f"n2/mask/{unit}", "n2", f"systemctl mask {unit}", f"n2/unit/{unit}.service")
        row = "clock/chrony" if unit == "chrony" else f"service/{unit}"
        yield Kind(f"n2/stopped/{unit}", "n2", f"systemctl stop {unit}", f"n2/{row}")
        yield Kind(f"n2/disabled/{unit}", "n2", f"systemctl disable {unit}", f"n2/{row}")


def _things() -> Iterator[Kind]:
    for name, command, row, restore in _UNMANAGED:
        yield Kind(f"s1/unmanaged/{name}", "s1", command, f"s1/{row}", restore=restore)


def _resources() -> Iterator[Kind]:
    environment = "/opt/sovctl/gateway/lib/python3*/site-packages"
    yield Kind("s1/environment/module", "s1", f"echo '# x' >> $(ls {environment}/yaml/__init__.py)",
               "s1/environment/gateway")  # fmt: skip
    yield Kind("s1/environment/pth", "s1", f"echo 'import os' > $(ls -d {environment})/z.pth", "s1/environment/gateway")
    yield Kind("s1/environment/link", "s1", "ln -sfn /tmp /opt/sovctl/gateway", "s1/environment/gateway")
    yield Kind("s1/environment/mode", "s1", "chmod 0777 /opt/sovctl/gateway/", "s1/environment/gateway")
    model = "/srv/sovctl/models/echo"
    yield Kind("n1/model/extra", "n1", f"touch {model}/z.safetensors", "n1/model/echo")
    yield Kind("n1/model/changed", "n1", f"echo x >> {model}/config.json", "n1/model/echo")
    yield Kind("n1/model/mode", "n1", f"chmod 0666 {model}/config.json", "n1/model/echo")
    yield Kind("n1/model/removed", "n1", f"rm {model}/config.json", "n1/model/echo")
    yield Kind("n1/pool/flag", "n1", "sed -i 's/^max-num-seqs: .*/max-num-seqs: 4/' /etc/sovctl/pools/chat.yaml",
               "n1/pool/chat")  # fmt: skip
    yield Kind("n1/hold", "n1", "apt-mark unhold nvidia-open", "n1/package/nvidia-open")
    yield Kind("n1/firewall/rule", "n1", "nft add rule inet sovctl output ip daddr 192.0.2.9 accept",
               "n1/perimeter/firewall")  # fmt: skip
    yield Kind("n2/firewall/table", "n2", "nft add table ip drift", "n2/perimeter/firewall")
    yield Kind("s1/gateway/config", "s1", "echo '# x' >> /etc/sovctl/gateway.yaml", "s1/gateway/gateway")
    yield Kind("s1/credential/mode", "s1", "chmod 0644 /etc/sovctl/secrets/token.key", "s1/credential/token.key")
    yield Kind("s1/apt source", "s1", "echo 'deb http://192.0.2.9 ./' > /etc/apt/sources.list.d/z.list",
               "s1/repository/site-mirror")  # fmt: skip
