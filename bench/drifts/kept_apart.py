"""Kinds that were not used to develop the detection: changes that an administrator makes in a hurry.

The row is a pattern, because no row was designed for these: any row of the node that names the changed thing counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from .kind import Kind

# (node, name, command, pattern of kind and name of the row, command that removes it)
_CHANGES = (
    ("s1", "rule of routing", "ip rule add from 192.0.2.1 lookup 100", "*192.0.2.1*", "ip rule del from 192.0.2.1"),
    ("n1", "setting of the kernel", ("sysctl -n net.ipv4.ip_default_ttl > /var/tmp/ttl; "
     "sysctl -qw net.ipv4.ip_default_ttl=77"), "*ip_default_ttl*",
     "sysctl -qw net.ipv4.ip_default_ttl=$(cat /var/tmp/ttl); rm /var/tmp/ttl"),
    ("n2", "masked timer", "systemctl mask -q systemd-tmpfiles-clean.timer", "*tmpfiles-clean*",
     "systemctl unmask -q systemd-tmpfiles-clean.timer"),
    ("s1", "member of a group", "gpasswd -a sovctl-gateway adm >/dev/null", "*sovctl-gateway*",
     "gpasswd -d sovctl-gateway adm >/dev/null"),
    ("n2", "login without a password", ("cp -p /etc/pam.d/common-auth /var/tmp/pam; "
     "sed -i '1i auth sufficient pam_permit.so' /etc/pam.d/common-auth"), "*common-auth*",
     "mv /var/tmp/pam /etc/pam.d/common-auth"),
    ("n1", "table of the firewall", ("nft add table ip extra; "
     "nft add chain ip extra c '{ type filter hook input priority 0; }'"),
     "perimeter/firewall", "nft delete table ip extra"),
    ("n2", "file system in memory", "mkdir -p /mnt/x && mount -t tmpfs x /mnt/x", "*/mnt/x*",
     "umount /mnt/x; rmdir /mnt/x"),
    ("s1", "accepted addresses", ("cp -p /etc/hosts.allow /var/tmp/ha 2>/dev/null || touch /var/tmp/ha; "
     "echo 'ALL: ALL' >> /etc/hosts.allow"), "*hosts.allow*", "mv /var/tmp/ha /etc/hosts.allow"),
)  # fmt: skip


def kinds() -> Iterator[Kind]:
    """Yield the kinds."""
    for node, name, command, row, restore in _CHANGES:
        yield Kind(f"{node}/apart/{name}", node, command, f"{node}/{row}", restore=restore, blocks_apply=True)
