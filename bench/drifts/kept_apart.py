"""Kinds that were not used to develop the detection: changes that an administrator makes in a hurry.

The row is a pattern, because no row was designed for these: any row of the node that names the changed thing counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from .kind import Kind

# (node, name, command, pattern of kind and name of the row, command that removes it)
_CHANGES = (
    ("n1", "package held by hand", "apt-mark hold bash >/dev/null", "*bash*", "apt-mark unhold bash >/dev/null"),
    ("s1", "additional address", "ip address add 192.0.2.77/32 dev lo", "*192.0.2.77*",
     "ip address del 192.0.2.77/32 dev lo"),
    ("n2", "proxy of all services", "systemctl set-environment https_proxy=http://192.0.2.9:3128", "*environment*",
     "systemctl unset-environment https_proxy"),
    ("n1", "proxy of root's shell", ("cp -p /root/.bashrc /var/tmp/b 2>/dev/null || touch /var/tmp/b; "
     "echo 'export https_proxy=http://192.0.2.9:3128' >> /root/.bashrc"), "*/root/.bashrc",
     "mv /var/tmp/b /root/.bashrc"),
    ("s1", "script that root left running", ("printf 'while :; do sleep 60; done\\n' > /var/tmp/fix.sh; "
     "setsid sh /var/tmp/fix.sh >/dev/null 2>&1 & echo $! > /run/fix.pid"), "*fix.sh*",
     "kill $(cat /run/fix.pid); rm /var/tmp/fix.sh /run/fix.pid"),
    ("n2", "service account with a shell", ("getent passwd sovctl-vllm | cut -d: -f7 > /var/tmp/s; "
     "usermod --shell /bin/bash sovctl-vllm"), "*sovctl-vllm*",
     "usermod --shell $(cat /var/tmp/s) sovctl-vllm; rm /var/tmp/s"),
    ("n1", "temporary folder without sticky bit", "chmod 0777 /tmp", "*/tmp*", "chmod 1777 /tmp"),
    ("s1", "order of name services", ("cp -p /etc/nsswitch.conf /var/tmp/ns; "
     "sed -i 's/^hosts:.*/hosts: dns files/' /etc/nsswitch.conf"), "*nsswitch*", "mv /var/tmp/ns /etc/nsswitch.conf"),
)  # fmt: skip


def kinds() -> Iterator[Kind]:
    """Yield the kinds."""
    for node, name, command, row, restore in _CHANGES:
        yield Kind(f"{node}/apart/{name}", node, command, f"{node}/{row}", restore=restore, blocks_apply=True)
