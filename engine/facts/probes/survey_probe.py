"""Read-only survey of things on a node that neither a package nor sovctl put there. Standard library only.

Argument: one JSON document {"known": [path, ...], "units": [unit, ...], "programs": [path, ...]}: files that sovctl
writes, units that may listen, programs whose packages are verified. Prints one JSON list of [kind, name, detail]. A
second argument is the root of another tree, with the same paths below it and without listeners.
"""

import glob
import hashlib
import json
import os
import re
import subprocess
import sys

# Files below these folders need an owner. A pattern in GENERATED is written by the operating system itself.
FOLDERS = (
    "/etc", "/usr/local/bin", "/usr/local/sbin", "/usr/local/lib/systemd", "/usr/local/share/ca-certificates",
    "/usr/lib/systemd/system", "/usr/lib/systemd/system-generators", "/usr/lib/sysctl.d", "/usr/lib/modprobe.d",
    "/usr/lib/modules-load.d", "/usr/lib/tmpfiles.d", "/usr/lib/udev/rules.d", "/usr/lib/sysusers.d", "/usr/bin",
    "/usr/sbin", "/run/systemd/system", "/run/systemd/transient", "/var/spool/cron", "/root/.ssh", "/run/sysctl.d",
    "/usr/lib/python3/dist-packages", "/usr/local/lib", "/opt",
)  # fmt: skip
SHALLOW = ("/usr/bin", "/usr/sbin")
# Only the names in this folder are surveyed, because each is the folder of one software.
OPTIONAL = "/opt"
ROOT = sys.argv[2] if len(sys.argv) > 2 else ""
# Links that the operating system itself makes, to files of packages or of sovctl. A file with such a name is reported.
ALIASES = re.compile(
    r"""(?x)
    /etc/alternatives/[^/]+
    | /etc/systemd/(system|user)/[^/]+\.(wants|requires|upholds)/[^/]+
    | /etc/systemd/system/(dbus-[^/]+|[a-z]+\.service)
    | /usr/(bin|sbin)/(awk|nawk|pager|editor|vi|which|nc|pico|ex|view|rsh|rcp|rlogin|python|lzma.*|un?lz.*|lz.*)
    """
)
LAB = re.compile(r".*/[^/]*sovctl-lab.*")
IS_SIMULATED = os.path.exists(ROOT + "/etc/sovctl-simulated")
GENERATED = re.compile(
    r"""(?x)
    /etc/(passwd|group|shadow|gshadow|subuid|subgid)-?
    | /etc/(hostname|hosts|machine-id|mtab|fstab)
    | /etc/(resolv\.conf|ld\.so\.cache|adjtime|localtime|timezone|shells|\.pwd\.lock|\.updated|nsswitch\.conf)
    | /etc/(environment|locale\.gen|locale\.conf|profile|motd|host\.conf|networks|crypttab|vconsole\.conf)
    | /etc/rc[0-6S]\.d/[^/]+
    | /etc/ssl/certs/[^/]+
    | /etc/ca-certificates\.conf
    | /etc/ssl/private/ssl-cert-.*
    | /etc/ssh/(ssh_host_.*|sshd_config|moduli)
    | /etc/default/[a-z-]+
    | /etc/apt/(sources\.list|apt\.conf\.d/(01autoremove.*|70debconf|docker-.*|[0-9]*cloud.*))
    | /etc/apt/(trusted\.gpg\.d|keyrings)/(debian|ubuntu)-.*
    | /etc/dpkg/origins/default
    | /etc/kernel-img\.conf
    | /etc/(netplan|cloud|NetworkManager|network|X11|pki|vmware-tools|nvidia)/.*
    | /etc/udev/hwdb\.bin
    | /etc/chrony/chrony\.keys
    | /etc/apparmor\.d/local/[^/]+
    | /etc/systemd/(network|resolved\.conf\.d)/.*
    | /etc/(sysctl\.d|modprobe\.d)/README
    | /etc/(papersize|python3/.*|profile\.d/[a-z]*cloud.*)
    | /etc/(update-motd\.d|emacs|lvm|multipath|initramfs-tools|grub\.d|iscsi|console-setup)/.*
    | /etc/issue(\.net)?
    | /etc/(debconf\.conf|deluser\.conf|adduser\.conf|login\.defs|inputrc|nanorc|rpc|xattr\.conf)
    | /etc/\.(resolv|etckeeper).*
    | /etc/sovctl-simulated
    | /opt/sovctl
    | /etc/(hosts\.allow|hosts\.deny|modules|.*\.dpkg-(old|dist|new|bak))
    | /etc/pam\.d/common-.*
    | /etc/security/opasswd
    | .*/__pycache__/.*
    | /run/systemd/system/(netplan|systemd-)[^/]*
    | /run/systemd/transient/(session|run-r).*scope
    """
)
SESSION_UNITS = ("ssh.service", "sshd.service")  # units in whose group sessions are without pam_systemd
NOT_INSTALLED = re.compile(r"/usr/share/(doc|man|locale|info|lintian|bug|help)/.*|/var/.*")
KINDS = (
    (re.compile(r"/etc/ld\.so\.preload"), "preload"),
    (re.compile(r"/etc/(cron.*|at\..*)|/var/spool/cron/.*"), "cron"),
    (re.compile(r"/etc/apt/.*"), "package source"),
    (re.compile(r".*/systemd/.*"), "unit"),
    (re.compile(r"/usr/(local/)?s?bin/.*"), "program"),
    (re.compile(r"/etc/sudoers\.d/.*|.*/\.ssh/.*|/etc/ssh/.*"), "access"),
)


def owners():
    packages = {}
    if not os.path.isdir(ROOT + "/var/lib/dpkg/info"):
        return dict.fromkeys(run("rpm", "-q", "-a", "-l").splitlines(), "rpm")
    for path in glob.glob(ROOT + "/var/lib/dpkg/info/*.list"):
        package = os.path.basename(path)[: -len(".list")]
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                name = line.rstrip("\n")
                packages[name] = package
                if name.startswith(("/bin/", "/sbin/", "/lib")):
                    packages["/usr" + name] = package  # these folders are links to /usr now
                elif name.startswith(("/usr/lib/", "/usr/bin/", "/usr/sbin/")):
                    packages[name[4:]] = package
    try:
        with open(ROOT + "/var/lib/dpkg/diversions", encoding="utf-8") as file:
            packages.update((line.strip(), "diversions") for line in file)
    except OSError:
        pass
    return packages


def kind_of(path):
    return next((kind for pattern, kind in KINDS if pattern.fullmatch(path)), "file")


def names_below(folder):
    """Yield the paths of files and of links."""
    if folder == OPTIONAL:
        yield from (f"{folder}/{name}" for name in sorted(os.listdir(ROOT + folder)) if os.path.isdir(ROOT + folder))
        return
    for path, folders, names in os.walk(ROOT + folder):
        if folder in SHALLOW:
            folders.clear()
        links = [name for name in folders if os.path.islink(os.path.join(path, name))]
        yield from (os.path.join(path, name)[len(ROOT) :] for name in sorted(names + links))


def target_of(path):
    """Return the file to which a link points, through all links; empty for a file."""
    if not os.path.islink(ROOT + path):
        return ""
    if not ROOT:
        return os.path.realpath(path)
    for _ in range(8):
        if os.path.islink(ROOT + path):
            path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(ROOT + path)))
    return path


def of_system(patterns):
    """Return the patterns of the node's operating system as one regular expression; it matches nothing without one."""
    try:
        with open(ROOT + "/etc/os-release", encoding="utf-8") as file:
            names = re.findall(r"^ID=[\"']?([\w.-]+)", file.read(), re.MULTILINE)
    except OSError:
        names = []
    return re.compile("|".join(f"(?:{pattern})" for name, pattern in patterns if name in names) or "(?!)")


def files(packages, known, generated):
    for each in (path for folder in FOLDERS if os.path.isdir(ROOT + folder) for path in names_below(folder)):
        if each in packages or each in known:
            continue
        target = target_of(each)
        is_of_lab = IS_SIMULATED and (LAB.fullmatch(each) or LAB.fullmatch(target))
        is_known = is_of_lab or target in packages or target in known
        if is_of_lab or is_generated(each, generated) or (is_known and target and ALIASES.fullmatch(each)):
            continue
        if target == "/dev/null":
            continue  # a mask
        if target and is_known and "/systemd/" not in each and not each.startswith("/usr/local/"):
            continue
        yield [kind_of(each), each, f"link to {target}" if target else shadowed(each, packages)]


def is_generated(path, generated):
    return GENERATED.fullmatch(path) or generated.fullmatch(path)


def shadowed(path, packages):
    name = os.path.basename(path)
    others = [f"{folder}/{name}" for folder in ("/usr/sbin", "/usr/bin") if f"{folder}/{name}" in packages]
    return f"is found before {others[0]}" if others and path.startswith("/usr/local/") else "of no package"


def changed_configuration(known):
    text = run("dpkg-query", f"--admindir={ROOT}/var/lib/dpkg", "-W", "-f", "${Package}\n${Conffiles}\n")
    for line in text.splitlines():
        words = line.split()
        if line.startswith(" ") and len(words) == 2 and words[0] not in known:
            try:
                with open(ROOT + words[0], "rb") as file:
                    digest = hashlib.md5(file.read()).hexdigest()  # noqa: S324 - dpkg stores this digest
            except OSError:
                continue  # a configuration file may be removed
            if digest != words[1] and len(words[1]) == 32 and not GENERATED.fullmatch(words[0]):
                yield ["changed package file", words[0], "configuration differs from its package"]


def changed_programs(packages, programs, known):
    there = [path for path in programs if path in packages]
    names = sorted({packages[path] for path in there} - {"diversions"})
    verify = ["rpm", "-V", "-f", *there] if names == ["rpm"] else ["dpkg", f"--root={ROOT or '/'}", "--verify", *names]
    for line in run(*verify).splitlines() if names else ():
        flags, _, path = line.partition(" ")
        path = path.strip().split(" ")[-1]
        if path in known or NOT_INSTALLED.match(path) or GENERATED.fullmatch(path):
            continue
        if flags == "missing" or flags[2:3] == "5":
            detail = "missing" if flags == "missing" else "content differs from its package"
            yield ["changed package file", path, detail]


def unit_of(pid):
    try:
        with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
            return next(
                (part for part in reversed(file.read().strip().split("/")) if part.endswith((".service", ".scope"))), ""
            )
    except OSError:
        return ""


def is_of_unit(pid, units):
    """Return whether a process may listen for a unit. Processes of ssh sessions can be in the group of the server."""
    unit = unit_of(pid)
    if unit in SESSION_UNITS:
        return run("systemctl", "show", "--property=MainPID", "--value", unit).strip() == pid
    return unit in units


def listeners(units):
    for line in run("ss", "-H", "-l", "-t", "-u", "-n", "-p").splitlines():
        words = line.split()
        pids = re.findall(r'\("([^"]*)",pid=(\d+)', line)
        if any(is_of_unit(pid, units) or name.startswith("systemd") for name, pid in pids):
            continue
        # The port of an ephemeral UDP socket changes; a process has one row for these.
        process = pids[0][0] if pids else "kernel"
        if words[0] == "udp" and process != "kernel" and int(words[4].rpartition(":")[2]) >= 32768:
            continue
        yield ["listener", f"{words[0]} {words[4]}", f"process {process}"]


def run(*argv):
    done = subprocess.run(argv, capture_output=True, check=False, env=dict(os.environ, LC_ALL="C"))
    return done.stdout.decode("utf-8", "replace")


def main():
    request = json.loads(sys.argv[1])
    known, packages = set(request["known"]), owners()
    if not packages:
        sys.exit("no database of packages")
    found = [*files(packages, known, of_system(request.get("generated", []))), *changed_configuration(known)]
    found += changed_programs(packages, request["programs"], known)
    found += [] if ROOT else listeners(request["units"])
    unique = {(kind, name): detail for kind, name, detail in found}
    json.dump([[*key, detail] for key, detail in sorted(unique.items())], sys.stdout)
    sys.stdout.write("\n")


main()
