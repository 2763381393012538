"""Changes that an administrator makes in a hurry. They were kept apart until 2026-11-28; the plan reported 3 of the
first 10, and none of 7 of the further 8.

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
    ("n1", "package held by hand", "apt-mark hold bash >/dev/null", "*bash*", "apt-mark unhold bash >/dev/null"),
    ("s1", "additional address", "ip address add 192.0.2.77/32 dev lo", "*192.0.2.77*",
     "ip address del 192.0.2.77/32 dev lo"),
    ("n2", "proxy of all services", "systemctl set-environment https_proxy=http://192.0.2.9:3128", "*https_proxy",
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
