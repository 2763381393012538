"""Kernel of a GPU server: boot options, modules to load and to block, parameters of the driver.

- The configuration and the running kernel are observed. A difference of the running kernel needs a reboot.
- GRUB adds the options to every boot entry (Debian, Ubuntu). The entries of grub.cfg are compared too.
- Other files of modprobe.d that block or change the modules at the next start are differences. apply does not change
  them, and fails with their lines.
- Other boot options are reported as unmanaged, if they weaken the kernel or differ between the entries and the running
  kernel (`other_boot_options`).
- A container runs the kernel of its host, and has no such resources.
- On DGX OS the options and modules are only compared, because NVIDIA's packages set them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TypeVar

from sovctl.support.canonical_json import sha256_hex

from ...catalog.host_settings import HostSetting, SetBy, host_settings
from ...facts.host.boot import command_line, driver_parameters, grub_command_lines, lacking, loaded_modules
from ...facts.host.modprobe import READ as MODPROBE_READ
from ...facts.host.modprobe import conflicts
from ...facts.node import NodeFacts
from ...facts.unreadable import Unreadable
from ...spec import Node
from ..context import Context, render
from ..resource import Desired, Risk, State
from ..resource_type import Query, ResourceType

_T = TypeVar("_T")

BOOT_FILE = "/etc/default/grub.d/90-sovctl.cfg"
LOAD_FILE, OPTIONS_FILE = "/etc/modules-load.d/sovctl.conf", "/etc/modprobe.d/sovctl.conf"
GRUB, COMMAND_LINE, MODULES = "/boot/grub/grub.cfg", "/proc/cmdline", "/proc/modules"
PARAMETERS = "/proc/driver/nvidia/params"


def is_dgx_os(facts: NodeFacts | None) -> bool:
    """Return whether the node runs DGX OS, whose settings sovctl only compares."""
    return facts is not None and facts.system.dgx_release is not None


def settings_on(context: Context, node: Node) -> tuple[HostSetting, ...]:
    """Return the rows of the table for a node, without the omitted ones of site.yaml."""
    return host_settings(context.platform(node), omitted=context.spec.host.omitted_settings)


def _values(context: Context, node: Node, set_by: SetBy) -> list[str]:
    return [each.value for each in settings_on(context, node) if each.set_by is set_by]


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    if not context.platform(node).has_gpus or (facts is not None and facts.is_container):
        return
    is_asserted = is_dgx_os(facts)
    why = "as DGX OS has them" if not is_asserted else "DGX OS sets them; compared only"
    options = _values(context, node, SetBy.BOOT_OPTION)
    boot: dict[str, object] = {"at_boot": options, "running": options}
    if not is_asserted:
        boot = {"file_sha256": sha256_hex(render("kernel", "grub.cfg.j2", options=options)), **boot}
    yield _desired("boot-options", boot, f"boot options of {context.group(node).platform}, {why}", is_asserted,
                   {"options": options})  # fmt: skip
    load, blocked = _values(context, node, SetBy.MODULE), _values(context, node, SetBy.BLOCKED_MODULE)
    parameters = {key: str(value) for key, value in sorted(context.spec.host.driver_parameters.items())}
    conflicting = _conflicts(facts, load=load, blocked=blocked, parameters=parameters)
    modules: dict[str, object] = {
        "loaded": load,
        "blocked": blocked,
        "conflicts_at_boot": [],
        **{f"running {key}": value for key, value in parameters.items()},
    }
    if not is_asserted:
        text = render("kernel", "modprobe.conf.j2", blocked=blocked, parameters=parameters)
        modules["load_sha256"] = sha256_hex(render("kernel", "modules-load.conf.j2", load=load))
        modules["options_sha256"] = sha256_hex(text)
    yield _desired("modules", modules, f"kernel modules of {context.group(node).platform}, {why}", is_asserted,
                   {"load": load, "blocked": blocked, "parameters": parameters,
                    "conflicts_at_boot": conflicting})  # fmt: skip


def _desired(name: str, state: State, why: str, is_asserted: bool, variables: dict[str, object]) -> Desired:
    empty: dict[str, object] = {"options": [], "load": [], "blocked": [], "parameters": {}, "conflicts_at_boot": []}
    return Desired(
        kind="kernel",
        name=name,
        state=state,
        why=why,
        variables={**empty, **variables, "is_asserted": is_asserted},
        risk=Risk.NONE,
        minutes=0.3,
    )


def _conflicts(
    facts: NodeFacts | None, *, load: list[str], blocked: list[str], parameters: dict[str, str]
) -> list[str]:
    """Return the lines of other files of modprobe.d that change these modules at the next start."""
    if facts is None:
        return []
    text = render("kernel", "modprobe.conf.j2", blocked=blocked, parameters=parameters)
    return conflicts({**facts.texts, OPTIONS_FILE: text}, OPTIONS_FILE, parameters=parameters, load=["nvidia", *load])


def _observe(facts: NodeFacts, desired: Desired) -> State:
    return _boot(facts, desired) if desired.name == "boot-options" else _modules(facts, desired)


def _parsed(parse: Callable[[str], _T], text: str | None) -> _T | None:
    """Return the parsed text; None if it is absent or has an unknown format. None differs from all expected values."""
    try:
        return None if text is None else parse(text)
    except Unreadable:
        return None


def _boot(facts: NodeFacts, desired: Desired) -> State:
    options = tuple(desired.variables["options"])
    entries = _parsed(grub_command_lines, facts.texts.get(GRUB)) or ()
    missing = {each for entry in entries for each in lacking(options, entry)}
    running = lacking(options, _parsed(command_line, facts.texts.get(COMMAND_LINE)) or ())
    return {
        "file_sha256": facts.sha256(BOOT_FILE),
        "at_boot": [each for each in options if entries and each not in missing],
        "running": [each for each in options if each not in running],
    }


WEAKENING = {
    "init": "replaces the init program",
    "rd.break": "opens a root shell during the start",
    "systemd.debug_shell": "opens a root shell without a password",
    "systemd.debug-shell": "opens a root shell without a password",
    "mitigations": "disables mitigations of CPU vulnerabilities",
    "nokaslr": "disables address randomization of the kernel",
    "audit": "disables the audit log",
    "apparmor": "disables AppArmor",
    "selinux": "disables SELinux",
    "lockdown": "changes the kernel lockdown",
    "module.sig_enforce": "changes the verification of module signatures",
    "module_blacklist": "blocks kernel modules",
    "modprobe.blacklist": "blocks kernel modules",
}
"""Boot options that weaken a node. Sources: kernel-parameters(7), kernel-command-line(7) of systemd 255, 2026-11."""
HARMLESS = frozenset({"audit=1", "apparmor=1", "selinux=1", "module.sig_enforce=1", "module.sig_enforce",
                       "lockdown=integrity", "lockdown=confidentiality", "mitigations=auto", "mitigations=auto,nosmt"}
                      )  # fmt: skip
_OF_EACH_BOOT = ("BOOT_IMAGE=", "initrd=")


def other_boot_options(facts: NodeFacts, planned: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield unplanned boot options with the reason why a reader must know them.

    Args:
        planned: boot options of sovctl.
    """
    entries = _parsed(grub_command_lines, facts.texts.get(GRUB)) or ()
    running = _parsed(command_line, facts.texts.get(COMMAND_LINE)) or ()
    names = {each.partition("=")[0] for each in planned}
    # The first word is the kernel. GRUB replaces variables, such as $vt_handoff of Ubuntu, at the start.
    at_boot = dict.fromkeys(option for entry in entries for option in entry[1:] if "$" not in option)
    is_complete = not any("$" in option for entry in entries for option in entry[1:])
    for option in dict.fromkeys([*at_boot, *running]):
        name = option.partition("=")[0]
        if name in names or option.startswith(_OF_EACH_BOOT):
            continue
        if name in WEAKENING and option not in HARMLESS:
            yield option, WEAKENING[name]
        elif entries and running and option not in running:
            yield option, f"in {GRUB}, not in the running kernel: it takes effect at the next start"
        elif entries and is_complete and option not in at_boot:
            yield option, f"in the running kernel, not in {GRUB}: the next start omits it"


def boot_options(context: Context, node: Node) -> list[str]:
    """Return the boot options that sovctl plans for a node."""
    return _values(context, node, SetBy.BOOT_OPTION) if context.platform(node).has_gpus else []


def _modules(facts: NodeFacts, desired: Desired) -> State:
    loaded = _parsed(loaded_modules, facts.texts.get(MODULES))
    parameters = _parsed(driver_parameters, facts.texts.get(PARAMETERS)) or {}
    return {
        "load_sha256": facts.sha256(LOAD_FILE),
        "options_sha256": facts.sha256(OPTIONS_FILE),
        "conflicts_at_boot": desired.variables["conflicts_at_boot"],
        "loaded": [each for each in desired.variables["load"] if loaded and each in loaded],
        "blocked": [each for each in desired.variables["blocked"] if loaded is not None and each not in loaded],
        **{f"running {key}": parameters.get(key.removeprefix("NVreg_")) for key in desired.variables["parameters"]},
    }


def _query(context: Context, node: Node) -> Query:
    if not context.platform(node).has_gpus:
        return Query()
    return Query(
        hash=(BOOT_FILE, LOAD_FILE, OPTIONS_FILE), read=(GRUB, COMMAND_LINE, MODULES, PARAMETERS, *MODPROBE_READ)
    )


RESOURCE_TYPE = ResourceType("kernel", _expect, _observe, _query)
