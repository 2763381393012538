"""Records what a node is after an apply, and compares it later. Standard library only.

Argument: one JSON document with "known": [path, ...], "units": [unit, ...] and "settings": [sysctl key, ...], which a
plan compares by other means. {"action": "record", "keep": [[kind, name], ...]} writes `FILE`; the entries of `keep`
stay as they were. Prints {"sha256": digest of the file, "entries": number}. {"action": "compare", "sha256": digest}
prints one JSON list of [kind, name, detail]: what differs from the file; empty without a digest. A second argument is
the root of another tree, with the same paths below it and without the running state.
"""

import glob
import grp
import hashlib
import json
import os
import pwd
import re
import stat
import subprocess
import sys

FILE = "/var/lib/sovctl/baseline.json"
ROOT = sys.argv[2] if len(sys.argv) > 2 else ""
LARGE_BYTES = 1 << 20  # of larger files only the size is compared
# Written by the operating system in normal operation, or the subject of another survey.
OTHER = re.compile(
    r"""(?x)
    /etc/(mtab|adjtime|ld\.so\.cache|resolv\.conf|hostname|localtime|timezone|\.pwd\.lock|\.updated)
    | /etc/(passwd|group|shadow|gshadow|subuid|subgid)-?
    | /etc/(sovctl|sovctl-simulated|lvm/archive|lvm/backup|cups|fwupd|NetworkManager/system-connections)(/.*)?
    | /etc/ssl/certs/.*
    | /etc/rc[0-6S]\.d/.*
    | .*/(__pycache__|\.git)(/.*)?
    | .*/[^/]*sovctl-lab.*
    | .*(~|\.sw[a-p]|\.dpkg-(new|tmp|old|dist|bak)|\.lock)
    """
)
# Folders whose mode and owner count, and files outside /etc that change what programs of root do.
FOLDERS = (
    "/", "/etc", "/root", "/home", "/tmp", "/var", "/var/tmp", "/var/lib", "/var/log", "/var/spool",  # noqa: S108
    "/var/spool/cron", "/usr", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/local", "/usr/local/bin", "/usr/local/sbin",
    "/usr/local/lib", "/opt", "/srv", "/boot",
)  # fmt: skip
OF_ROOT = (
    "/root/.bashrc", "/root/.bash_profile", "/root/.bash_login", "/root/.profile", "/root/.bash_aliases",
    "/root/.netrc", "/root/.zshrc", "/root/.pam_environment", "/root/.ssh/config", "/root/.ssh/rc", "/root/.gitconfig",
    "/root/.config/pip/pip.conf", "/root/.pip/pip.conf",
)  # fmt: skip
# Devices whose addresses container networks, virtual machines and tunnels maintain.
OF_SOFTWARE = re.compile(
    r"(docker|br-|veth|cali|vxlan|flannel|cni|cilium|lxc|kube|nodelocal|virbr|vnet|tun|tap|wg|tailscale|podman|ov[ns]).*"
)
# Settings of the kernel that only an administrator changes. Others change by themselves, or differ between kernels.
SETTINGS = (
    "net/ipv4/ip_*", "net/ipv4/tcp_*", "net/ipv4/icmp_*", "net/ipv4/conf/all/*", "net/ipv4/conf/default/*",
    "net/ipv6/conf/all/*", "net/ipv6/conf/default/*", "net/core/*", "kernel/sysrq", "kernel/core_pattern",
    "kernel/kptr_restrict", "kernel/dmesg_restrict", "kernel/randomize_va_space", "kernel/yama/*",
    "kernel/unprivileged_*", "kernel/perf_event_paranoid", "kernel/panic*", "vm/overcommit_*", "vm/swappiness",
    "vm/zone_reclaim_mode", "vm/dirty_*", "fs/protected_*", "fs/suid_dumpable", "fs/file-max", "fs/nr_open",
)  # fmt: skip
# Secrets, and what the kernel sets together with net.ipv4.ip_forward.
OTHER_SETTING = re.compile(r".*(key|secret)|net\.ipv4\.conf\.(all|default)\.forwarding")
# Mounts of the kernel, of containers and of running units.
NOT_MOUNTED_BY_HAND = re.compile(r"/(proc|sys|dev|run|snap|var/lib/(docker|containerd|containers|kubelet))(/.*)?")


def run(*argv):
    try:
        done = subprocess.run(argv, capture_output=True, check=False, env=dict(os.environ, LC_ALL="C"))
    except OSError:
        return ""
    return done.stdout.decode("utf-8", "replace")


def digest(text):
    return hashlib.sha256(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")).hexdigest()


def content(path, found):
    if stat.S_ISLNK(found.st_mode):
        return f"link to {os.readlink(path)}"
    if not stat.S_ISREG(found.st_mode):
        return ""
    if found.st_size > LARGE_BYTES:
        return f"{found.st_size} bytes"
    with open(path, "rb") as file:
        return digest(file.read())


def file_entry(path):
    """Return the properties of a file, a link or a folder; None if it is absent."""
    try:
        found = os.lstat(ROOT + path)
        kind = stat.S_IFMT(found.st_mode) >> 12
        return {
            "type": f"{kind:o}",
            "mode": f"{stat.S_IMODE(found.st_mode):04o}",
            "owner": f"{found.st_uid}:{found.st_gid}",
            "content": content(ROOT + path, found),
        }
    except OSError:
        return None


def names_below(folder):
    for path, folders, names in os.walk(ROOT + folder):
        below = path[len(ROOT) :]
        folders[:] = sorted(name for name in folders if not OTHER.fullmatch(f"{below}/{name}"))
        yield from (f"{below}/{name}" for name in sorted([*folders, *names]) if not OTHER.fullmatch(f"{below}/{name}"))


def planned(request):
    """Return the test whether a plan compares a file by other means."""
    known = set(request["known"])
    of_units = re.compile(
        r"/etc/systemd/system/(.*/)?(" + ("|".join(map(re.escape, request["units"])) or "(?!)") + r")(\.d(/.*)?)?"
    )
    return lambda path: path in known or of_units.fullmatch(path)


def files(is_planned):
    names = [*FOLDERS, *OF_ROOT, *names_below("/etc")]  # files of a planned folder can be unknown
    return {name: entry for name in names if not is_planned(name) and (entry := file_entry(name)) is not None}


def accounts():
    """Return the accounts; the digest of a password tells only whether it is another one."""
    passwords = {}
    try:
        with open("/etc/shadow", encoding="utf-8", errors="replace") as file:
            passwords = dict(line.split(":")[:2] for line in file if line.count(":") >= 2)
    except OSError:
        pass
    return {
        each.pw_name: {
            "number": f"{each.pw_uid}:{each.pw_gid}",
            "home": each.pw_dir,
            "shell": each.pw_shell,
            "groups": " ".join(sorted(group.gr_name for group in grp.getgrall() if each.pw_name in group.gr_mem)),
            "password": digest(passwords.get(each.pw_name, ""))[:16],
        }
        for each in pwd.getpwall()
    }


def holds():
    return {name: {"state": "held"} for name in run("apt-mark", "showhold").split()}


def addresses():
    rows = json.loads(run("ip", "-j", "address", "show") or "[]")
    return {
        f"{each['local']}/{each['prefixlen']}": {"device": row["ifname"]}
        for row in rows
        if not OF_SOFTWARE.fullmatch(row["ifname"].partition("@")[0])
        for each in row.get("addr_info", ())
        if each.get("scope") != "link" and not each.get("dynamic")
    }


def routing_rules():
    """Return the rules besides the three of the kernel, which have the priorities 0, 32766 and 32767."""
    found = {}
    for family in ("-4", "-6"):
        for row in json.loads(run("ip", "-j", family, "rule", "show") or "[]"):
            if row.get("priority") not in (0, 32766, 32767):
                words = (f"{key} {row[key]}" for key in ("src", "dst", "fwmark", "iif", "oif", "table") if row.get(key))
                found[" ".join(words)] = {"family": family}
    return found


def kernel_settings(managed):
    found = {}
    for path in (path for pattern in SETTINGS for path in glob.glob(f"/proc/sys/{pattern}")):
        name = path[len("/proc/sys/") :].replace("/", ".")
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                if name not in managed and not OTHER_SETTING.fullmatch(name):
                    found[name] = {"value": " ".join(file.read().split())}
        except OSError:
            continue  # it can only be written
    return found


def service_variables():
    """Return the variables that systemd gives to every unit; a value can hold a password."""
    pairs = (line.partition("=") for line in run("systemctl", "show-environment").splitlines())
    return {name: {"content": digest(value)[:16]} for name, _, value in pairs if name}


def mounts():
    found = {}
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            words = line.split()
            kind, source = words[words.index("-") + 1 :][:2]
            if not NOT_MOUNTED_BY_HAND.fullmatch(words[4]) and kind not in ("overlay", "squashfs", "autofs", "nsfs"):
                found[words[4]] = {"source": source, "file system": kind, "options": words[5]}
    return found


def entries(request):
    found = {"changed file": files(planned(request))}
    if not ROOT:
        found |= {
            "account": accounts(),
            "package hold": holds(),
            "address": addresses(),
            "service variable": service_variables(),
            "mount": mounts(),
            "routing rule": routing_rules(),
            "kernel setting": kernel_settings(set(request["settings"])),
        }
    return found


SCOPE = ("known", "units", "settings")  # what a plan compares by other means

# Values that a reader may see; of the others only the name of the property is printed.
SHOWN = ("mode", "owner", "shell", "home", "number", "groups", "device", "source", "options", "file system", "value")
# Another kernel has other settings, so that only a changed value counts.
ONLY_CHANGED = "kernel setting"


def detail_of(before, now):
    if before is None:
        return "new since the last apply"
    if now is None:
        return "gone since the last apply"
    changed = [key for key in now if key in before and now[key] != before[key]]
    words = (f"{key} {now[key]}, was {before[key]}" if key in SHOWN else key for key in changed)
    return f"changed since the last apply: {'; '.join(words)}"


def is_changed(before, now):
    return any(now[key] != before[key] for key in {*before} & {*now})


def differences(before, now):
    for kind in sorted({*before} & {*now}):  # an older version of this program recorded fewer kinds and properties
        old, new = before[kind], now[kind]
        for name in sorted({*old, *new}):
            if kind == ONLY_CHANGED and not (name in old and name in new):
                continue
            if name not in old or name not in new or is_changed(old[name], new[name]):
                yield [kind, name, detail_of(old.get(name), new.get(name))]


def stored():
    """Return the content of the file; None if it is absent."""
    try:
        with open(ROOT + FILE, "rb") as file:
            return file.read()
    except OSError:
        return None


def compare(request):
    if not request["sha256"]:
        return []
    text = stored()
    if text is None or digest(text) != request["sha256"]:
        return [["changed file", FILE, "absent" if text is None else "changed since the last apply"]]
    before = json.loads(text)
    # Another version of site.yaml or of sovctl plans other files; what one of both plans is not compared.
    scope = before.pop("scope", {})
    both = {key: [*request[key], *scope.get(key, ())] for key in SCOPE}
    if "changed file" in before:
        is_planned = planned(both)
        before["changed file"] = {name: old for name, old in before["changed file"].items() if not is_planned(name)}
    return list(differences(before, entries(both)))


def record(request):
    now, text = entries(request), stored()
    if request["keep"] and text is not None:
        before = json.loads(text)
        for kind, name in request["keep"]:
            old = before.get(kind, {}).get(name)
            if old is None:
                now.get(kind, {}).pop(name, None)
            else:
                now.setdefault(kind, {})[name] = old
    data = json.dumps({**now, "scope": {key: request[key] for key in SCOPE}}, sort_keys=True).encode()
    os.makedirs(os.path.dirname(ROOT + FILE), mode=0o755, exist_ok=True)
    temporary = f"{ROOT}{FILE}.{os.getpid()}"
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, ROOT + FILE)
    return {"sha256": digest(data), "entries": sum(map(len, now.values()))}


def main():
    request = json.loads(sys.argv[1] if sys.argv[1] != "-" else sys.stdin.read())
    json.dump({"record": record, "compare": compare}[request["action"]](request), sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
