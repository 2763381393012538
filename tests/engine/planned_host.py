"""The other end of `engine/resources/host`: nodes as planned, and every value that could be changed by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import planned_retrieval
from node_edits import OTHER_SHA256, STARTED_S, Handle, with_answer, with_file, with_text, with_unit

from sovctl.engine.facts.node import InstalledPackage, NodeFacts
from sovctl.engine.resources.context import ROLES, render
from sovctl.engine.resources.host import (
    administrator,
    audit,
    container_toolkit,
    hardware,
    hosts_file,
    kernel,
    log_forwarding,
    resolver,
    service_account,
    sshd,
    storage,
)
from sovctl.engine.resources.resource import Desired
from sovctl.engine.spec import Node
from sovctl.support.canonical_json import sha256_hex

# Keyword and value of `sshd -T` of an unchanged Debian 12.
BARE_SSHD = {
    "pubkeyauthentication": "yes",
    "passwordauthentication": "yes",
    "kbdinteractiveauthentication": "no",
    "permitrootlogin": "without-password",
    "authorizedkeysfile": ".ssh/authorized_keys .ssh/authorized_keys2",
}


def sshd_output(values: dict[str, str], logins: list[str]) -> str:
    """What the probe prints when every login has the same values."""
    lines = "".join(f"{key} {value}\n" for key, value in values.items())
    return "".join(f"## {login}\n{lines}" for login in logins)


def sshd_unit(changed_s: int) -> str:
    """What systemctl prints of the unit on Debian, after the unit that is absent."""
    absent = "Id=ssh.service\nLoadState=not-found\nActiveState=inactive\nStateChangeTimestamp=\n"
    there = f"Id=sshd.service\nLoadState=loaded\nActiveState=active\nStateChangeTimestamp=@{changed_s}\n"
    return f"{absent}\n{there}"


# What the program prints on a server with 8 GPUs whose settings are right.
HARDWARE = {"governors": ["performance"], "gpus": 8, "acs": [], "relaxed_ordering": [], "bridge_power": []}

_ANSWERS = {
    "hardware": json.dumps({**HARDWARE, "governors": ["schedutil"], "acs": ["0000:15:01.0"]}),
    "sshd": sshd_output(BARE_SSHD, ["root 192.0.2.1"]),
    "sshd_unit": sshd_unit(STARTED_S),
    "accounts": "",
    "retrieval-database": "",
    "service_accounts": "",
    "audit_rules": "No rules\n",
    "gpu_modes": "0, Disabled, Enabled\n",
    "cdi": "",
    "findmnt": json.dumps({"filesystems": []}),
    "lsblk": json.dumps({"blockdevices": []}),
    "attributes": "{}",
    "environment-folders": "",
    "environment-trees": "{}",
    "model-trees": "{}",
    "unmanaged": "[]",
    "unmanaged-accounts": "[]",
    "unmanaged-programs": "[]",
    "unmanaged-running": "[]",
}
ANSWERS_OF_BARE_NODE = {name: {"exit_code": 0, "stdout": text, "stderr": ""} for name, text in _ANSWERS.items()}


def _put_hosts(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    lines = [hosts_file.BEGIN, *desired.variables["entries"], hosts_file.END, "127.0.0.1 localhost"]
    return with_text(facts, hosts_file.FILE, "\n".join(lines) + "\n")


def _hosts_handles(desired: Desired) -> Iterator[Handle]:
    first = desired.variables["entries"][0]

    def before(line: str) -> Callable[[NodeFacts], NodeFacts]:
        return lambda facts: with_text(facts, hosts_file.FILE, f"{line}\n{facts.texts[hosts_file.FILE]}")

    def former(facts: NodeFacts) -> NodeFacts:
        text = facts.texts[hosts_file.FILE] or ""
        return with_text(facts, hosts_file.FILE, text.replace(hosts_file.END, f"192.0.2.9 former\n{hosts_file.END}"))

    yield Handle("hosts_file", "nodes", "entries", before(f"192.0.2.9 {first.split()[1]}"))
    yield Handle("hosts_file", "nodes", "former", former)


def _put_resolver(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    values = {key: desired.variables[key] for key in ("servers", "search")}
    return with_text(facts, resolver.FILE, render("resolver", "resolv.conf.j2", **values))


def _resolver_handles(_desired: Desired) -> Iterator[Handle]:
    def first(facts: NodeFacts) -> NodeFacts:
        text = f"nameserver 192.0.2.9\n{facts.texts[resolver.FILE]}"
        return replace(facts, texts={**facts.texts, resolver.FILE: text})

    yield Handle("resolver", "dns", "file_sha256", lambda facts: with_file(facts, resolver.FILE))
    yield Handle("resolver", "dns", "servers", first)


def _account(name: str, *, shell: str = administrator.SHELL, groups: str = "", status: str = "L") -> str:
    return f"{name}\t{name}:x:1001:1001::/home/{name}:{shell}\t{name}{groups}\t{status}\n"


def _service_account(
    name: str, uid: int, *, shell: str = service_account.SHELL, groups: str = " sovctl", status: str = "L"
) -> str:
    return f"{name}\t{name}:x:{uid}:{uid}::/var/lib/sovctl/{name}:{shell}\t{name}{groups}\t{status}\n"


def _put_service_account(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    known = str(facts.answers[service_account.ANSWER]["stdout"])
    return with_answer(facts, service_account.ANSWER, known + _service_account(desired.name, desired.variables["uid"]))


def _service_account_handles(desired: Desired) -> Iterator[Handle]:
    name, uid = desired.name, desired.variables["uid"]

    def handle(key: str, other: str) -> Handle:
        def change(facts: NodeFacts) -> NodeFacts:
            text = str(facts.answers[service_account.ANSWER]["stdout"])
            return with_answer(facts, service_account.ANSWER, text.replace(_service_account(name, uid), other))

        return Handle("service_account", name, key, change)

    yield handle("uid", _service_account(name, 1005))
    yield handle("shell", _service_account(name, uid, shell="/bin/bash"))
    yield handle("groups", _service_account(name, uid, groups=" sovctl sudo"))
    yield handle("has_password", _service_account(name, uid, status="P"))


def _put_administrator(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    item = {"name": desired.name, **desired.variables}
    known = str(facts.answers["accounts"]["stdout"])
    facts = with_answer(facts, "accounts", known + _account(desired.name))
    facts = with_text(facts, f"{administrator.KEYS}/{desired.name}", render("administrator", "keys.j2", item=item))
    if desired.variables["sudo"]:
        path = f"{administrator.SUDO}/sovctl-{desired.name}"
        facts = with_text(facts, path, render("administrator", "sudoers.j2", item=item))
    return facts


def _administrator_handles(desired: Desired) -> Iterator[Handle]:
    name = desired.name
    keys = f"{administrator.KEYS}/{name}"

    def handle(key: str, change: Callable[[NodeFacts], NodeFacts]) -> Handle:
        return Handle("administrator", name, key, change)

    def account(**fields: str) -> Callable[[NodeFacts], NodeFacts]:
        def change(facts: NodeFacts) -> NodeFacts:
            text = str(facts.answers["accounts"]["stdout"])
            return with_answer(facts, "accounts", text.replace(_account(name), _account(name, **fields)))

        return change

    yield handle("shell", account(shell="/bin/sh"))
    yield handle("groups", account(groups=" sudo"))
    yield handle("has_password", account(status="P"))
    yield handle("has_password", account(status="NP"))
    yield handle("keys", lambda facts: with_text(facts, keys, f"{facts.texts[keys]}ssh-ed25519 AAAA other\n"))
    if desired.variables["sudo"]:
        path = f"{administrator.SUDO}/sovctl-{name}"
        yield handle("sudo_sha256", lambda facts: with_file(facts, path))
        yield handle("sudo", lambda facts: replace(facts, texts={**facts.texts, path: "anna ALL=(ALL) ALL\n"}))
    yield handle("keys_mode", lambda facts: replace(facts, files={**facts.files, keys: {"mode": "0666"}}))


def _put_sshd(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    values = {key: desired.variables[key] for key in ("people", "settings", "keys")}
    facts = with_text(facts, sshd.FILE, render("sshd", "sshd.conf.j2", **values))
    effective = {key.lower(): value for key, value in desired.variables["settings"].items()}
    logins = ["ops 192.0.2.1", "root 192.0.2.1", *(f"{name} 192.0.2.1" for name in desired.variables["people"])]
    return with_answer(
        facts, "sshd", sshd_output({**BARE_SSHD, **effective, "authorizedkeysfile": f"{sshd.KEYS}/%u"}, logins)
    )


def _sshd_handles(desired: Desired) -> Iterator[Handle]:
    yield Handle("sshd", "server", "file_sha256", lambda facts: with_file(facts, sshd.FILE, OTHER_SHA256))
    for key, value in desired.variables["settings"].items():
        yield Handle("sshd", "server", key.lower(), _sshd_value(f"{key.lower()} {value}\n", f"{key.lower()} other\n"))
    if desired.variables["people"]:
        wanted = f"authorizedkeysfile {sshd.KEYS}/%u\n"
        yield Handle("sshd", "server", "administrators_keys", _sshd_value(wanted, "authorizedkeysfile none\n"))
    yield Handle("sshd", "server", "runs_what_is_written", lambda facts: with_answer(facts, "sshd_unit", sshd_unit(1)))


def _sshd_value(old: str, new: str) -> Callable[[NodeFacts], NodeFacts]:
    """A change for the last login only, as of a Match block."""

    def change(facts: NodeFacts) -> NodeFacts:
        text = str(facts.answers["sshd"]["stdout"])
        head, _, last = text.rpartition("## ")
        assert old in last
        return with_answer(facts, "sshd", f"{head}## {last.replace(old, new)}")

    return change


def module_line(name: str) -> str:
    """A line of /proc/modules."""
    return f"{name} 16384 0 - Live 0x0000000000000000\n"


def _put_kernel(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    values = desired.variables
    if desired.name == "boot-options":
        line = " ".join(values["options"])
        facts = with_text(facts, kernel.BOOT_FILE, render("kernel", "grub.cfg.j2", options=values["options"]))
        recovery = "  linux /vmlinuz-6.8 root=/dev/sda1 ro recovery nomodeset\n"
        facts = with_text(facts, kernel.GRUB, f"menuentry 'x' {{\n\tlinux /vmlinuz-6.8 ro {line}\n}}\n{recovery}")
        return with_text(facts, kernel.COMMAND_LINE, f"BOOT_IMAGE=/vmlinuz-6.8 ro {line}\n")
    of_modules = {key: values[key] for key in ("blocked", "parameters")}
    facts = with_text(facts, kernel.LOAD_FILE, render("kernel", "modules-load.conf.j2", load=values["load"]))
    facts = with_text(facts, kernel.OPTIONS_FILE, render("kernel", "modprobe.conf.j2", **of_modules))
    lines = [f"{key.removeprefix('NVreg_')}: {value}\n" for key, value in values["parameters"].items()]
    facts = with_text(facts, kernel.PARAMETERS, "".join(lines))
    return with_text(facts, kernel.MODULES, "".join(map(module_line, ["nvidia", *values["load"]])))


def _text(path: str, old: str, new: str) -> Callable[[NodeFacts], NodeFacts]:
    def change(facts: NodeFacts) -> NodeFacts:
        text = facts.texts[path] or ""
        assert old in text
        return replace(facts, texts={**facts.texts, path: text.replace(old, new)})

    return change


def _kernel_handles(desired: Desired) -> Iterator[Handle]:
    def handle(key: str, change: Callable[[NodeFacts], NodeFacts]) -> Handle:
        return Handle("kernel", desired.name, key, change)

    if desired.name == "boot-options":
        yield handle("file_sha256", lambda facts: with_file(facts, kernel.BOOT_FILE))
        for option in desired.variables["options"]:
            yield handle("at_boot", _text(kernel.GRUB, option, "quiet"))
            yield handle("running", _text(kernel.COMMAND_LINE, option, "quiet"))
            # The last value of an option counts.
            later = f"{option} {option.partition('=')[0]}=other"
            yield handle("running", _text(kernel.COMMAND_LINE, option, later))
        return
    yield handle("load_sha256", lambda facts: with_file(facts, kernel.LOAD_FILE))
    yield handle("options_sha256", lambda facts: with_file(facts, kernel.OPTIONS_FILE))
    for module in desired.variables["load"]:
        yield handle("loaded", _text(kernel.MODULES, module_line(module), ""))
    for module in desired.variables["blocked"]:
        yield handle("blocked", _text(kernel.MODULES, module_line("nvidia"), module_line(module)))
    for key, value in desired.variables["parameters"].items():
        name = key.removeprefix("NVreg_")
        yield handle(f"running {key}", _text(kernel.PARAMETERS, f"{name}: {value}", f"{name}: 77"))


def _put_hardware(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    text = render("hardware", "unit.service.j2", arguments=desired.variables["arguments"])
    facts = with_text(facts, hardware.UNIT_FILE, text)
    facts = with_file(facts, hardware.PROGRAM, sha256_hex(hardware.SOURCE.read_bytes()))
    return with_answer(with_unit(facts, hardware.UNIT), "hardware", json.dumps(HARDWARE))


def _hardware_handles(desired: Desired) -> Iterator[Handle]:
    def handle(key: str, change: Callable[[NodeFacts], NodeFacts]) -> Handle:
        return Handle("hardware", "settings", key, change)

    yield handle("program_sha256", lambda facts: with_file(facts, hardware.PROGRAM))
    yield handle("unit_sha256", lambda facts: with_file(facts, hardware.UNIT_FILE))
    yield handle("enabled", lambda facts: with_unit(facts, hardware.UNIT, enabled="disabled"))
    one_processor = {**HARDWARE, "governors": ["performance", "powersave"]}
    yield handle("governors", lambda facts: with_answer(facts, "hardware", json.dumps(one_processor)))
    for key in ("acs", "relaxed_ordering", "bridge_power"):
        one_device = json.dumps({**HARDWARE, key: ["0000:15:01.0"]})
        yield handle(key, lambda facts, text=one_device: with_answer(facts, "hardware", text))


NO_SWAP = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
RAID1 = "Personalities : [raid1]\nmd0 : active raid1 nvme1n1p2[1] nvme0n1p2[0]\n      9 blocks [2/2] [UU]\n\n"


def _put_storage(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    if desired.name == "swap":
        return with_text(with_text(facts, storage.SWAPS, NO_SWAP), storage.FSTAB, "/dev/md0 / ext4 defaults 0 1\n")
    wanted, device = desired.state or {}, f"/dev/mapper/{len(desired.name)}"
    rows = json.loads(str(facts.answers["findmnt"]["stdout"]))["filesystems"]
    options = ",".join(["rw", *wanted.get("options", ())])
    rows.append({"target": desired.name, "source": device, "fstype": wanted.get("filesystem", "ext4"),
                 "options": options, "size": 4096 << 30})  # fmt: skip
    devices = json.loads(str(facts.answers["lsblk"]["stdout"]))["blockdevices"]
    disk = {"name": "/dev/nvme0n1p2", "type": "part", "children": [{"name": "/dev/nvme0n1", "type": "disk"}]}
    array = {"name": "/dev/md0", "type": "raid1", "children": [disk]}
    devices.append({"name": device, "type": "crypt", "children": [array]})
    facts = with_answer(facts, "findmnt", json.dumps({"filesystems": rows}))
    facts = with_answer(facts, "lsblk", json.dumps({"blockdevices": devices}))
    return with_text(facts, storage.MDSTAT, RAID1)


def _storage_handles(desired: Desired) -> Iterator[Handle]:
    def handle(key: str, change: Callable[[NodeFacts], NodeFacts]) -> Handle:
        return Handle("storage", desired.name, key, change)

    if desired.name == "swap":
        yield handle("in_use", _text(storage.SWAPS, "Priority\n", "Priority\n/dev/zram0 partition 8 0 100\n"))
        yield handle("at_boot", _text(storage.FSTAB, "/dev/md0", "/dev/sda3 none swap sw 0 0\n/dev/md0"))
        return
    wanted, device = desired.state or {}, f"/dev/mapper/{len(desired.name)}"

    def row(**fields: object) -> Callable[[NodeFacts], NodeFacts]:
        def change(facts: NodeFacts) -> NodeFacts:
            rows = json.loads(str(facts.answers["findmnt"]["stdout"]))["filesystems"]
            changed = [{**each, **fields} if each["target"] == desired.name else each for each in rows]
            return with_answer(facts, "findmnt", json.dumps({"filesystems": changed}))

        return change

    def plain(facts: NodeFacts) -> NodeFacts:
        text = str(facts.answers["lsblk"]["stdout"])
        old = json.dumps({"name": device, "type": "crypt"})[:-1]
        assert old in text
        return with_answer(facts, "lsblk", text.replace(old, old.replace("crypt", "lvm")))

    yield handle("min_size_gib", row(size=1 << 20))
    if "filesystem" in wanted:
        yield handle("filesystem", row(fstype="ext3"))
    if "options" in wanted:
        yield handle("options", row(options="rw,nodev"))
    if "is_encrypted" in wanted:
        yield handle("is_encrypted", plain)
    if "raid" in wanted:
        yield handle("raid_faults", _text(storage.MDSTAT, "[2/2] [UU]", "[2/1] [U_]"))


def with_package(facts: NodeFacts, name: str) -> NodeFacts:
    """The same with an installed package."""
    return replace(facts, packages={**facts.packages, name: InstalledPackage("1-1", False)})


def _put_audit(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    rules, settings = desired.variables["rules"], desired.variables["settings"]
    facts = with_text(facts, audit.RULES_FILE, render("audit", "sovctl.rules.j2", rules=rules))
    facts = with_text(facts, audit.SETTINGS_FILE, render("audit", "auditd.conf.j2", audit=settings))
    # The kernel prints a key of a rule for calls as a field, and fields in an order of its own.
    listed = [rule.replace("-F auid!=-1 -F key=mounts", "-F key=mounts -F auid!=unset") for rule in rules]
    return with_answer(with_unit(facts, "auditd"), "audit_rules", "\n".join(listed) + "\n")


def _audit_handles(desired: Desired) -> Iterator[Handle]:
    def handle(key: str, change: Callable[[NodeFacts], NodeFacts]) -> Handle:
        return Handle("audit", "auditd", key, change)

    yield handle("rules_sha256", lambda facts: with_file(facts, audit.RULES_FILE))
    yield handle("settings_sha256", lambda facts: with_file(facts, audit.SETTINGS_FILE))
    yield handle("active", lambda facts: with_unit(facts, "auditd", active="failed"))
    yield handle("enabled", lambda facts: with_unit(facts, "auditd", enabled="disabled"))
    some = "\n".join(desired.variables["rules"][1:])
    yield handle("loaded", lambda facts: with_answer(facts, "audit_rules", some))


def _put_logs(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    text = render("log_forwarding", "rsyslog.conf.j2", **desired.variables)
    facts = with_text(facts, log_forwarding.FILE, text)
    return with_unit(facts, log_forwarding.UNIT)


def _log_handles(_desired: Desired) -> Iterator[Handle]:
    def handle(key: str, change: Callable[[NodeFacts], NodeFacts]) -> Handle:
        return Handle("log_forwarding", "siem", key, change)

    later = {"mtime_ns": (STARTED_S + 5) * 10**9}
    path = log_forwarding.CA_FILE
    yield handle("file_sha256", lambda facts: with_file(facts, log_forwarding.FILE))
    yield handle("active", lambda facts: with_unit(facts, log_forwarding.UNIT, active="failed"))
    yield handle("enabled", lambda facts: with_unit(facts, log_forwarding.UNIT, enabled="disabled"))
    yield handle(
        "runs_what_is_written",
        lambda facts: replace(facts, files={**facts.files, path: {**facts.files[path], **later}}),
    )


def _put_gpu_modes(facts: NodeFacts, _desired: Desired, _node: Node) -> NodeFacts:
    return with_answer(facts, "gpu_modes", "0, Enabled, Disabled\n1, Enabled, [N/A]\n")


def _gpu_modes_handles(_desired: Desired) -> Iterator[Handle]:
    for key, text in {
        "persistence": "0, Enabled, Disabled\n1, Disabled, Disabled\n",
        "mig": "0, Enabled, Enabled\n1, Enabled, Disabled\n",
    }.items():
        yield Handle("gpu_modes", "all", key, lambda facts, text=text: with_answer(facts, "gpu_modes", text))


def _put_toolkit(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    wanted = desired.state or {}
    if container_toolkit.PACKAGE not in facts.packages:
        facts = with_package(facts, container_toolkit.PACKAGE)
    facts = with_answer(facts, "cdi", "\n".join(wanted["devices"]))
    library = f"hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.{wanted['driver']}\n"
    return with_text(facts, container_toolkit.SPECIFICATIONS[0], library)


def _toolkit_handles(desired: Desired) -> Iterator[Handle]:
    def handle(key: str, change: Callable[[NodeFacts], NodeFacts]) -> Handle:
        return Handle("container_toolkit", "cdi", key, change)

    devices = "\n".join((desired.state or {})["devices"][1:])
    path, driver = container_toolkit.SPECIFICATIONS[0], str((desired.state or {})["driver"])
    yield handle("devices", lambda facts: with_answer(facts, "cdi", devices))
    yield handle("driver", _text(path, driver, "570.1.2"))


def _put_monitoring(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    item = desired.variables
    for file in item["files"]:
        facts = with_text(facts, file["path"], file["text"])
    text = render("monitoring", "unit.service.j2", item={"name": desired.name, **item})
    facts = with_text(facts, f"/etc/systemd/system/{item['unit']}.service", text)
    if item["program"]:
        program = ROLES / "monitoring" / "files" / item["program"]
        facts = with_file(facts, item["program_path"], sha256_hex(program.read_bytes()))
    return with_unit(facts, item["unit"])


def _monitoring_handles(desired: Desired) -> Iterator[Handle]:
    def handle(key: str, change: Callable[[NodeFacts], NodeFacts]) -> Handle:
        return Handle("monitoring", desired.name, key, change)

    unit, state = desired.variables["unit"], desired.state or {}
    for file in desired.variables["files"]:
        [key] = [key for key, value in state.items() if value == sha256_hex(file["text"])]
        yield handle(key, lambda facts, path=file["path"]: with_file(facts, path))
    yield handle("unit_sha256", lambda facts: with_file(facts, f"/etc/systemd/system/{unit}.service"))
    yield handle("active", lambda facts: with_unit(facts, unit, active="failed"))
    yield handle("enabled", lambda facts: with_unit(facts, unit, enabled="disabled"))
    if desired.variables["program"]:
        yield handle("program_sha256", lambda facts: with_file(facts, desired.variables["program_path"]))
    later = {"mtime_ns": (STARTED_S + 5) * 10**9}
    key = "/etc/sovctl/tls/node.key"
    yield handle(
        "runs_what_is_written",
        lambda facts: replace(facts, files={**facts.files, key: {**facts.files[key], **later}}),
    )


PUT: dict[str, Callable[[NodeFacts, Desired, Node], NodeFacts]] = {
    "hosts_file": _put_hosts,
    "resolver": _put_resolver,
    "administrator": _put_administrator,
    "service_account": _put_service_account,
    "sshd": _put_sshd,
    "kernel": _put_kernel,
    "hardware": _put_hardware,
    "storage": _put_storage,
    "gpu_modes": _put_gpu_modes,
    "container_toolkit": _put_toolkit,
    "audit": _put_audit,
    "log_forwarding": _put_logs,
    "monitoring": _put_monitoring,
    "retrieval": planned_retrieval.put,
}
HANDLES: dict[str, Callable[[Desired], Iterator[Handle]]] = {
    "hosts_file": _hosts_handles,
    "resolver": _resolver_handles,
    "administrator": _administrator_handles,
    "service_account": _service_account_handles,
    "sshd": _sshd_handles,
    "kernel": _kernel_handles,
    "hardware": _hardware_handles,
    "storage": _storage_handles,
    "gpu_modes": _gpu_modes_handles,
    "container_toolkit": _toolkit_handles,
    "audit": _audit_handles,
    "log_forwarding": _log_handles,
    "monitoring": _monitoring_handles,
    "retrieval": planned_retrieval.handles,
}
