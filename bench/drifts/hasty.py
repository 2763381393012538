"""Changes that an administrator makes in a hurry. They were kept apart until 2026-11-28; the plan reported 3 of 10.

The row is a pattern: any row of the node that names the changed thing counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from .kind import Kind

_LIBRARIES = "/usr/lib/x86_64-linux-gnu"

# (node, name, command, pattern of kind and name of the row, command that removes it)
_CHANGES = (
    ("s1", "setuid program", "chmod u+s /usr/bin/find", "*/usr/bin/find", "chmod u-s /usr/bin/find"),
    ("n2", "file mounted over the configuration of the clock",
     "cd /etc/chrony; cp chrony.conf /var/tmp/c; echo 'pool 192.0.2.9' >> /var/tmp/c; mount -B /var/tmp/c chrony.conf",
     "clock/chrony", "umount /etc/chrony/chrony.conf"),
    ("s1", "proxy of all logins", ("cp -p /etc/environment /var/tmp/e 2>/dev/null || touch /var/tmp/e; "
     "echo 'https_proxy=http://192.0.2.9:3128' >> /etc/environment"), "*/etc/environment",
     "mv /var/tmp/e /etc/environment"),
    ("n1", "time zone", "cp -a /etc/localtime /var/tmp/l; ln -sf /usr/share/zoneinfo/Pacific/Auckland /etc/localtime",
     "*localtime", "mv -f /var/tmp/l /etc/localtime"),
    ("n2", "host name", "cp -p /etc/hostname /var/tmp/n; hostname n9; echo n9 > /etc/hostname", "*host*name*",
     "hostname n2; mv /var/tmp/n /etc/hostname"),
    ("n2", "route", "ip route add 192.0.2.0/24 dev lo", "*192.0.2.0/24*", "ip route del 192.0.2.0/24 dev lo"),
    ("n2", "process that nothing supervises", ("cp /bin/sleep /var/tmp/drift-loop; setsid /var/tmp/drift-loop 3600 "
     ">/dev/null 2>&1 & echo $! > /run/loop.pid"), "*drift-loop*", "kill $(cat /run/loop.pid); rm /var/tmp/drift-loop"),
    ("s1", "limit of the gateway's processor time", "systemctl set-property --runtime sovctl-gateway CPUQuota=50%",
     "unit/sovctl-gateway.service", ("systemctl revert sovctl-gateway >/dev/null 2>&1; "
     "rm -rf /run/systemd/system.control/sovctl-gateway.service.d; systemctl daemon-reload")),
    ("s1", "patched library", (f"cd {_LIBRARIES}; readlink libz.so.1 > /var/tmp/z; cp libz.so.1 libz.so.1.9; "
     "ln -sf libz.so.1.9 libz.so.1"), "*libz.so*",
     f"cd {_LIBRARIES}; ln -sf $(cat /var/tmp/z) libz.so.1; rm libz.so.1.9"),
    ("n1", "second ssh server", "/usr/sbin/sshd -p 2222 -o PidFile=/run/sshd2.pid -o PasswordAuthentication=yes",
     "listener/tcp 0.0.0.0:2222", "kill $(cat /run/sshd2.pid)"),
)  # fmt: skip


_ALSO = {
    "limit of the gateway's processor time": ("s1/gateway/gateway",),
    "second ssh server": ("n1/listener/tcp [::]:2222",),
}
"""Further rows that a change causes, by name."""


def kinds() -> Iterator[Kind]:
    """Yield the kinds."""
    for node, name, command, row, restore in _CHANGES:
        yield Kind(
            f"{node}/hasty/{name}",
            node,
            command,
            f"{node}/{row}",
            restore=restore,
            also=_ALSO.get(name, ()),
            blocks_apply=True,
        )
