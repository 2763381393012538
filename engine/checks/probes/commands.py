"""Shell commands that probes of several topics use. They change nothing and print no secret."""

from __future__ import annotations

import shlex

from sovctl.support.package_files import package_folder

from ...facts.node import SIMULATION_MARK
from ...resources.software.environment import GATEWAY, ROOT

SCRIPTS = package_folder("engine/checks/probes/scripts")

GREETING = f"[ -e {SIMULATION_MARK} ] && echo simulated || echo real"
"""First command on every node: tests ssh, and reports whether the hardware is simulated."""
GATEWAY_PYTHON = f"{ROOT}/{GATEWAY}/bin/python"
GPU_REPORT = "nvidia-smi -q -x"
FABRIC_SWEEP = "timeout 50 ibnetdiscover"
FABRIC_ERRORS = "timeout 50 ibqueryerrors --report-port --threshold-file /dev/null"
INFINIBAND_ADAPTERS = "ls -1 /sys/class/infiniband 2>/dev/null | wc -l"
_ADAPTER_FILES = "fw_ver board_id hca_type node_desc ports/*/state ports/*/phys_state ports/*/rate ports/*/link_layer"
_PORT_FILES = "sm_lid counters/symbol_error counters/link_downed counters/link_error_recovery"
_PORT_FILES += " counters/local_link_integrity_errors counters/excessive_buffer_overrun_errors"
_WANTED = " ".join(f"*/{each}" for each in (*_ADAPTER_FILES.split(), *(f"ports/*/{f}" for f in _PORT_FILES.split())))
INFINIBAND_TREE = f"""cd /sys/class/infiniband 2>/dev/null || exit 0
for adapter in *; do [ -e "$adapter" ] || continue
slot=$(readlink -f "$adapter/device"); echo "$adapter/slot:${{slot##*/}}"
grep -qs SW_MNG "$adapter/device/vpd" && echo "$adapter/vpd_model:SW_MNG"
done
grep -asH '' {_WANTED}; true"""
"""Prints `path:content` lines for `facts.hardware.infiniband`."""
# `read` starts no process: 5 ms instead of 180 ms of processor time for 50 devices.
PCI_DEVICES = """\
for d in /sys/bus/pci/devices/*; do
  vendor= device= class=
  { read -r vendor < "$d/vendor"; read -r device < "$d/device"; read -r class < "$d/class"; } 2>/dev/null
  echo "$vendor $device $class"
done"""
PCI_LINKS = """\
for d in /sys/bus/pci/devices/*; do
  line=${d##*/}
  for file in vendor device class numa_node current_link_speed current_link_width; do
    value=
    { read -r value rest < "$d/$file"; } 2>/dev/null
    line="$line ${value:--}"
  done
  echo "$line"
done"""
"""A line of `facts.hardware.pci` for each device."""
DRIVER_GPUS = 'for d in /proc/driver/nvidia/gpus/*/; do basename "$d"; cat "$d/information" || exit 1; done'
LOADED_MODULE = "cat /proc/driver/nvidia/version"
LOADED_MODULES = "lsmod"
KERNEL_LOG = r"""
wanted='Linux version [0-9]|NVRM|SXid|mlx5_core|AER:|PCIe Bus Error|EDAC'
log=$(journalctl -k -b -o short-monotonic --no-pager -q | grep -E "$wanted")
[ -n "$log" ] || log=$(dmesg | grep -E "$wanted")
printf '%s\n' "$log" """
"""Messages of the current boot about hardware: from the journal, else from the ring buffer."""
_UNIT_PROPERTIES = "Id,LoadState,ActiveState,SubState,MainPID"


CONTAINER = "systemd-detect-virt --container || true"
"""Prints `none` and exits with 1 outside a container (systemd-detect-virt(1))."""
LISTENERS = "ss -Htlnp"


def python_command(name: str, *arguments: str, user: str | None = None, interpreter: str = "python3") -> str:
    """Return a command that runs a program of `scripts` on the node. It leaves standard input to the program.

    Args:
        name: of the file, without `.py`. Its text is an argument of the command, because nothing is copied to a node.
        user: on the node; root if None.
    """
    text = (SCRIPTS / f"{name}.py").read_text()
    words = [interpreter, "-B", "-c", text, *arguments]
    return shlex.join(["runuser", "-u", user, "--", *words] if user else words)


def show_units(*units: str) -> str:
    """Return a `systemctl show` command whose output `facts.units` parses."""
    return f"systemctl show -p {_UNIT_PROPERTIES} {shlex.join(units)}"
