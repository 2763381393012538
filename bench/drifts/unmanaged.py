"""Things on a node that neither a package nor sovctl put there, and changed files of packages. Apply leaves them."""

from __future__ import annotations

from collections.abc import Iterator

from .kind import Kind

# (name, command, kind and name of the row, command that removes it)
_THINGS = (
    ("cron.d", "mkdir -p /etc/cron.d; echo '* * * * * root true' > /etc/cron.d/drift", "cron//etc/cron.d/drift",
     "rm /etc/cron.d/drift"),
    ("cron.daily", "mkdir -p /etc/cron.daily; printf '#!/bin/sh\\n' > /etc/cron.daily/drift",
     "cron//etc/cron.daily/drift", "rm /etc/cron.daily/drift"),
    ("crontab", "mkdir -p /var/spool/cron/crontabs; echo '* * * * * true' > /var/spool/cron/crontabs/root",
     "cron//var/spool/cron/crontabs/root", ("rm /var/spool/cron/crontabs/root; "
     "rmdir -p --ignore-fail-on-non-empty /var/spool/cron/crontabs")),
    ("preload", "touch /etc/ld.so.preload", "preload//etc/ld.so.preload", "rm /etc/ld.so.preload"),
    ("library folder", "echo /opt/lib > /etc/ld.so.conf.d/z.conf", "file//etc/ld.so.conf.d/z.conf",
     "rm /etc/ld.so.conf.d/z.conf"),
    ("shadow", "cp /bin/true /usr/local/bin/nvidia-smi", "program//usr/local/bin/nvidia-smi",
     "rm /usr/local/bin/nvidia-smi"),
    ("shadow link", "ln -s /bin/true /usr/local/sbin/nft", "program//usr/local/sbin/nft", "rm /usr/local/sbin/nft"),
    ("program", "cp /bin/true /usr/bin/drift", "program//usr/bin/drift", "rm /usr/bin/drift"),
    ("service", "printf '[Service]\\nExecStart=/bin/true\\n' > /etc/systemd/system/drift-x.service",
     "unit//etc/systemd/system/drift-x.service", "rm /etc/systemd/system/drift-x.service"),
    ("timer", "printf '[Timer]\\nOnBootSec=1h\\n' > /etc/systemd/system/drift-x.timer",
     "unit//etc/systemd/system/drift-x.timer", "rm /etc/systemd/system/drift-x.timer"),
    ("transient unit", "systemd-run --quiet --unit=drift-run sleep 3600",
     "unit//run/systemd/transient/drift-run.service", "systemctl stop drift-run"),
    ("generator", "mkdir -p /etc/systemd/system-generators; cp /bin/true /etc/systemd/system-generators/drift",
     "unit//etc/systemd/system-generators/drift", "rm -r /etc/systemd/system-generators"),
    ("root account", "echo 'drift:x:0:0::/:/bin/sh' >> /etc/passwd", "user/drift", "sed -i '/^drift:/d' /etc/passwd"),
    ("account", "useradd --create-home drift2", "user/drift2", "userdel --remove drift2 2>/dev/null; true"),
    ("empty password", "passwd -d daemon >/dev/null; sed -i 's/^daemon:[^:]*/daemon:/' /etc/shadow", "user/daemon",
     "sed -i 's/^daemon:[^:]*/daemon:*/' /etc/shadow"),
    ("password", "echo 'games:x-drift-1' | chpasswd", "user/games", "usermod -p '*' games"),
    ("group of root", "gpasswd --add www-data sudo >/dev/null", "user/www-data",
     "gpasswd --delete www-data sudo >/dev/null"),
    ("sudoers", "echo 'games ALL=(ALL) ALL' > /etc/sudoers.d/drift", "access//etc/sudoers.d/drift",
     "rm /etc/sudoers.d/drift"),
    ("root key", "mkdir -p /root/.ssh; echo key > /root/.ssh/authorized_keys", "access//root/.ssh/authorized_keys",
     "rm /root/.ssh/authorized_keys"),
    ("key of the account of apply", ("cp -p /home/ops/.ssh/authorized_keys /var/tmp/keys; "
     "echo 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPPd4lxmIp4xfbcmvVh1cB5J7ObeQHVnYYbxuNZ0pTDA x' "
     ">> /home/ops/.ssh/authorized_keys"),
     "access//home/ops/.ssh/authorized_keys", "mv /var/tmp/keys /home/ops/.ssh/authorized_keys"),
    ("sshd drop-in", "printf 'Match User ops\\n  PasswordAuthentication yes\\n' > /etc/ssh/sshd_config.d/50-z.conf",
     "access//etc/ssh/sshd_config.d/50-z.conf", "rm /etc/ssh/sshd_config.d/50-z.conf"),
    ("modprobe.d", "mkdir -p /etc/modprobe.d; echo '# x' > /etc/modprobe.d/z.conf", "file//etc/modprobe.d/z.conf",
     "rm /etc/modprobe.d/z.conf"),
    ("modules-load.d", "mkdir -p /etc/modules-load.d; echo loop > /etc/modules-load.d/z.conf",
     "file//etc/modules-load.d/z.conf", "rm /etc/modules-load.d/z.conf"),
    ("limits.d", "echo '# x' > /etc/security/limits.d/z.conf", "file//etc/security/limits.d/z.conf",
     "rm /etc/security/limits.d/z.conf"),
    ("profile.d", "echo : > /etc/profile.d/z.sh", "file//etc/profile.d/z.sh", "rm /etc/profile.d/z.sh"),
    ("apt.conf", "echo '// x' > /etc/apt/apt.conf.d/zz", "package source//etc/apt/apt.conf.d/zz",
     "rm /etc/apt/apt.conf.d/zz"),
    ("apt pin", "mkdir -p /etc/apt/preferences.d; touch /etc/apt/preferences.d/z",
     "package source//etc/apt/preferences.d/z", "rm /etc/apt/preferences.d/z"),
    ("apt key", "mkdir -p /etc/apt/trusted.gpg.d; touch /etc/apt/trusted.gpg.d/z.asc",
     "package source//etc/apt/trusted.gpg.d/z.asc", "rm /etc/apt/trusted.gpg.d/z.asc"),
    ("authority", "mkdir -p /usr/local/share/ca-certificates; touch /usr/local/share/ca-certificates/z.crt",
     "file//usr/local/share/ca-certificates/z.crt", "rm /usr/local/share/ca-certificates/z.crt"),
    ("module of Python", "echo > /usr/lib/python3/dist-packages/sitecustomize.py",
     "file//usr/lib/python3/dist-packages/sitecustomize.py", "rm /usr/lib/python3/dist-packages/sitecustomize.py"),
    ("local module of Python", "d=/usr/local/lib/python3.11/dist-packages; mkdir -p $d; echo > $d/drift.pth",
     "file//usr/local/lib/python3.11/dist-packages/drift.pth",
     "rm /usr/local/lib/python3.11/dist-packages/drift.pth"),
    ("listener", ("setsid python3 -c 'import socket,time; s=socket.socket(); s.bind((\"127.0.0.1\", 4567)); s.listen();"
     " time.sleep(3600)' >/dev/null 2>&1 & echo $! > /run/drift.pid; sleep 1"), "listener/tcp 127.0.0.1:4567",
     "kill $(cat /run/drift.pid); rm /run/drift.pid"),
    ("datagram listener", ("setsid python3 -c 'import socket,time; s=socket.socket(type=socket.SOCK_DGRAM); "
     "s.bind((\"0.0.0.0\", 4568)); time.sleep(3600)' >/dev/null 2>&1 & echo $! > /run/drift2.pid; sleep 1"),
     "listener/udp 0.0.0.0:4568", "kill $(cat /run/drift2.pid); rm /run/drift2.pid"),
    ("own folder", "touch /etc/sovctl-extra", "file//etc/sovctl-extra", "rm /etc/sovctl-extra"),
    ("software in opt", "mkdir /opt/agent; cp /bin/true /opt/agent/run", "file//opt/agent", "rm -r /opt/agent"),
    ("udev rule", "mkdir -p /etc/udev/rules.d; touch /etc/udev/rules.d/z.rules", "file//etc/udev/rules.d/z.rules",
     "rm /etc/udev/rules.d/z.rules"),
    ("tmpfiles.d", "mkdir -p /etc/tmpfiles.d; touch /etc/tmpfiles.d/z.conf", "file//etc/tmpfiles.d/z.conf",
     "rm /etc/tmpfiles.d/z.conf"),
    ("rc.local", "printf '#!/bin/sh\\n' > /etc/rc.local", "file//etc/rc.local", "rm /etc/rc.local"),
    ("changed program", "cp -p /usr/bin/nvidia-smi /var/tmp/p; echo >> /usr/bin/nvidia-smi",
     "changed package file//usr/bin/nvidia-smi", "mv /var/tmp/p /usr/bin/nvidia-smi"),
    ("changed sudoers", "cp -p /etc/sudoers /var/tmp/s; echo '# x' >> /etc/sudoers",
     "changed package file//etc/sudoers", "mv /var/tmp/s /etc/sudoers"),
    ("changed PAM", "cp -p /etc/pam.d/sshd /var/tmp/pam; echo '# x' >> /etc/pam.d/sshd",
     "changed package file//etc/pam.d/sshd", "mv /var/tmp/pam /etc/pam.d/sshd"),
    ("removed program", "mv /usr/bin/chronyc /var/tmp/chronyc", "changed package file//usr/bin/chronyc",
     "mv /var/tmp/chronyc /usr/bin/chronyc"),
)  # fmt: skip
_OF_GPU_NODE = ("changed program",)


def kinds() -> Iterator[Kind]:
    """Yield the kinds."""
    for name, command, row, restore in _THINGS:
        node = "n2" if name in _OF_GPU_NODE else "s1"
        also = (f"{node}/process//usr/bin/python3.11",) if "setsid python3" in command else ()
        yield Kind(f"{node}/unmanaged/{name}", node, command, f"{node}/{row}", restore=restore, also=also)
