"""Read-only survey of processes, routes, host name and time zone of a node. Standard library only.

Argument: one JSON document {"node": name, "zones": [name, ...], "accounts": [name, ...], "known": [path, ...]}: name of
the node, accepted time zones besides UTC, accounts whose processes are surveyed besides those of root, and files that
sovctl writes. Prints one JSON list of [kind, name, detail]. A second argument is the root of another tree for files.
"""

import glob
import ipaddress
import json
import os
import pwd
import re
import subprocess
import sys

ROOT = sys.argv[2] if len(sys.argv) > 2 else ""
LAB = re.compile(r".*/[^/]*sovctl-lab.*")
IS_SIMULATED = os.path.exists("/etc/sovctl-simulated")
DELETED = " (deleted)"  # suffix of the kernel (proc_pid_exe(5))
# Programs of the environments and models of sovctl, of snaps, and of software whose folder the survey of files reports.
MANAGED = ("/opt/", "/snap/", "/var/lib/snapd/", "/memfd:runc_cloned:")
# A deleted program in these folders was of a package that was upgraded or removed; `sovctl plan` has rows of restarts.
OF_PACKAGES = ("/usr/bin/", "/usr/sbin/", "/usr/lib", "/bin/", "/sbin/", "/lib")
INSTALLING = re.compile(r"\.dpkg-(new|tmp|old)$|;[0-9a-f]{8}$")
CONTAINER = re.compile(r"docker|containerd|kubepods|libpod|crio|podman|buildah|lxc|machine\.slice|garden|nspawn")
# Groups of sessions, with pam_systemd and without.
OF_SESSIONS = re.compile(r"/session-[^/]*\.scope|/sshd?\.service")
INTERPRETER = re.compile(r"(ba|da|z|k)?sh$|busybox|python|perl|ruby|node")
UTC = ("UTC", "UCT", "Zulu", "Universal", "GMT", "GMT0", "Greenwich")
ZONES = "/usr/share/zoneinfo/"
# `ip` prints no protocol without -d for `boot`, which is that of routes added by hand (ip-route(8)).
BY_HAND = ("boot", "static")
# Devices whose routes container networks, virtual machines and tunnels maintain.
OF_SOFTWARE = re.compile(
    r"(docker|br-|veth|cali|vxlan|flannel|cni|cilium|lxc|kube|nodelocal|virbr|vnet|tun|tap|wg|tailscale|podman|ov[ns]).*"
)
LINK_LOCAL = (ipaddress.ip_network("169.254.0.0/16"), ipaddress.ip_network("fe80::/10"))
NETWORK_FILES = (
    "/etc/netplan/*", "/run/netplan/*", "/usr/lib/netplan/*", "/etc/network/interfaces", "/etc/network/*/*",
    "/etc/NetworkManager/system-connections/*", "/run/NetworkManager/system-connections/*",
    "/usr/lib/NetworkManager/system-connections/*", "/etc/NetworkManager/dispatcher.d/*",
    "/etc/NetworkManager/dispatcher.d/*/*",
    "/etc/sysconfig/network-scripts/*", "/etc/sysconfig/network", "/etc/sysconfig/static-routes",
    "/etc/systemd/network/*", "/etc/systemd/network/*/*", "/run/systemd/network/*", "/run/systemd/network/*/*",
    "/usr/lib/systemd/network/*", "/etc/networkd-dispatcher/*/*", "/etc/cloud/cloud.cfg.d/*", "/etc/dhcpcd.conf",
    "/etc/wireguard/*", "/etc/frr/*", "/etc/bird/*", "/etc/keepalived/*",
)  # fmt: skip
ADDRESS = re.compile(r"[0-9a-fA-F]*[.:][0-9a-fA-F.:]*[0-9a-fA-F:](?:/\d{1,3})?")
FILE_LIMIT_BYTES = 262144


def read(path, limit=-1):
    """Return the text of a file; empty if it is absent or unreadable."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(limit)
    except OSError:
        return ""


def run(*argv):
    done = subprocess.run(argv, capture_output=True, check=False, env=dict(os.environ, LC_ALL="C"))
    return done.stdout.decode("utf-8", "replace")


def user_ids(accounts):
    found = {0}
    for name in accounts:
        try:
            found.add(pwd.getpwnam(name).pw_uid)
        except KeyError:
            continue  # the plan has a row of the account
    return found


def programs(users):
    """Return the numbers of processes by program, without kernel threads, zombies and processes of containers."""
    found, space = {}, os.readlink("/proc/self/ns/pid")
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            is_of_user = os.stat(f"/proc/{pid}").st_uid in users
            if is_of_user and os.readlink(f"/proc/{pid}/ns/pid") == space and not is_of_container(pid):
                found.setdefault(os.readlink(f"/proc/{pid}/exe"), []).append(int(pid))
        except OSError:
            continue  # a kernel thread or zombie has no program, and a process can end
    return found


def is_of_container(pid):
    return CONTAINER.search(read(f"/proc/{pid}/cgroup")) is not None


def packaged(paths):
    """Return the paths that a package contains, also if it was packaged below the links /bin and /sbin."""
    other = {path: path[len("/usr") :] if path.startswith("/usr/") else f"/usr{path}" for path in paths}
    asked = [*other, *other.values()]
    if not paths:
        return set()
    if os.path.isdir("/var/lib/dpkg/info"):
        files = {line.partition(": ")[2] for line in run("dpkg-query", "--search", *asked).splitlines()}
    else:
        files = set(run("rpm", "-q", "-f", "--queryformat", "[%{FILENAMES}\n]", *asked).splitlines())
    return {path for path in paths if {path, other[path]} & files}


def processes(accounts, known):
    found = {}
    for exe, pids in programs(user_ids(accounts)).items():
        is_deleted = exe.endswith(DELETED)
        path = INSTALLING.sub("", exe[: -len(DELETED)]) if is_deleted else exe
        if path in known or (IS_SIMULATED and LAB.fullmatch(path)):
            continue
        if path.startswith(MANAGED) and (not is_deleted or path.startswith(("/opt/sovctl/", *MANAGED[1:]))):
            continue
        if not is_deleted or not path.startswith(OF_PACKAGES):
            reason = "a program that was deleted" if is_deleted else "a program of no package"
            found[path] = f"{len(pids)} running, {reason}"
    of_packages = packaged(sorted(found))
    for path, detail in sorted(found.items()):
        if path not in of_packages:
            yield ["process", path, detail]


def left_running():
    """Yield processes whose session ended: they belong to the group of a session, and their parent is init."""
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        group = read(f"/proc/{pid}/cgroup").strip()
        if not OF_SESSIONS.search(group) or is_of_container(pid):
            continue
        parent = re.search(r"^PPid:\t(\d+)$", read(f"/proc/{pid}/status"), re.MULTILINE)
        if parent and parent[1] == "1" and (name := program_of(pid)):
            yield ["process", name, "its session ended, and it still runs"]


def program_of(pid):
    """Return the script or program of a process; empty for the server that makes the sessions. No other arguments."""
    try:
        exe = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""  # it ended
    if os.path.basename(exe).startswith(("sshd", "systemd", "(sd-pam)")):
        return ""
    words = read(f"/proc/{pid}/cmdline").split("\0")
    scripts = (word for word in words[1:] if word.startswith("/") and os.path.isfile(word))
    return next(scripts, exe) if INTERPRETER.match(os.path.basename(exe)) else exe


def zone():
    """Return the name of the time zone; None for a file of an unknown zone."""
    path = ROOT + "/etc/localtime"
    if os.path.islink(path):
        target = os.readlink(path)
        return target.partition(ZONES.lstrip("/"))[2] or None
    if not os.path.exists(path):
        return "UTC"  # localtime(5)
    with open(path, "rb") as file:
        # A file of time zones ends with the rule of its zone (tzfile(5)).
        rule = file.read().rstrip(b"\n").rpartition(b"\n")[2]
    return "UTC" if rule in (b"UTC0", b"GMT0", b"UTC", b"GMT") else None


def time_zone(accepted):
    name = zone()
    if name is None or (name.rpartition("/")[2] not in UTC and name not in accepted):
        yield [
            "time zone",
            "/etc/localtime",
            f"is {name or 'a file of an unknown zone'}, expected {' or '.join(['UTC', *accepted])}",
        ]


def host_name(node):
    expected = node.lower().partition(".")[0]
    names = {"running": os.uname().nodename, "in /etc/hostname": read(ROOT + "/etc/hostname").split("#")[0].strip()}
    for where, name in names.items():
        if name and name.lower().partition(".")[0] != expected:
            yield ["host name", name, f"{where}, expected {node}"]


def explained():
    """Return the networks and addresses in files of the network's configuration."""
    found = set()
    for path in {path for pattern in NETWORK_FILES for path in glob.glob(ROOT + pattern)}:
        for word in ADDRESS.findall(read(path, FILE_LIMIT_BYTES)) if os.path.isfile(path) else ():
            try:
                interface = ipaddress.ip_interface(word)
            except ValueError:
                continue
            found |= {str(interface.network), str(interface.ip), str(interface.network.network_address)}
    return found


def routes():
    """Yield the routes of the main table that were added by hand, and that no file of the network's configuration has.

    A default route is omitted, because the start of a container or an installer can set it without a file.
    """
    named = explained()
    for family in ("-4", "-6"):
        for row in json.loads(run("ip", "-j", "-d", family, "route", "show") or "[]"):
            if row.get("protocol", "boot") not in BY_HAND or OF_SOFTWARE.fullmatch(row.get("dev", "")):
                continue
            if row["dst"] == "default" or (family == "-6" and row.get("type", "unicast") != "unicast"):
                continue
            network = ipaddress.ip_network(row["dst"], strict=False)
            is_local = any(network.version == each.version and network.subnet_of(each) for each in LINK_LOCAL)
            if not is_local and not named & {str(network), str(network.network_address)}:
                way = " ".join(f"{word} {row[key]}" for word, key in (("via", "gateway"), ("dev", "dev")) if key in row)
                yield [
                    "route",
                    str(network),
                    f"{way or row.get('type', 'route')}, in no file of the network's configuration",
                ]


def main():
    request = json.loads(sys.argv[1])
    found = [
        *processes(request["accounts"], set(request["known"])), *time_zone(request["zones"]),
        *host_name(request["node"]), *routes(), *(left_running() if not ROOT else ()),
    ]  # fmt: skip
    unique = {(kind, name): detail for kind, name, detail in found}
    json.dump([[*key, detail] for key, detail in sorted(unique.items())], sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
