"""Steps of the removal of a node, in a safe order, and the things that stay on the node.

Services stop before their secrets are erased. Data precedes accounts, which own it. The firewall is last, so that it
protects the node until no secret is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...spec.retrieval import DATA as RETRIEVAL_DATA
from ...spec.service_accounts import SECRETS_GROUP, SERVICE_USERS
from ..clock import FILE as CHRONY_FILE
from ..credential import SECRETS, SIEM_CA, TLS
from ..gateway.service import CACHE, DATA
from ..host import administrator, audit, container_toolkit, hardware, hosts_file, kernel, log_forwarding, resolver, sshd
from ..mirror import urls as mirror_urls
from ..monitoring import services as monitoring
from ..perimeter import FILE as FIREWALL_FILE
from ..pool import LAUNCHER
from ..retrieval.places import FOLDER as RETRIEVAL
from ..software.environment import ROOT as ENVIRONMENTS
from ..software.model import STORE
from ..software.repository import DNF_SOURCE, KEY, MIRRORS, POLICY, PREFERENCES, SOURCE
from ..tuning import LIMITS_FILE, SYSCTL_FILE


@dataclass(frozen=True)
class Step:
    """One step: a resource of the removed node.

    Args:
        name: of the resource.
        why: reason, for the reader of a plan.
        paths: globs of files and folders to remove.
        erases: overwrite files before they are removed.
        accounts: users to remove.
        groups: groups to remove.
        blocks: first line of the block to remove, by file.
        firewall: remove the table of sovctl from the kernel.
    """

    name: str
    why: str
    paths: tuple[str, ...] = ()
    erases: bool = False
    accounts: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    blocks: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    firewall: bool = False


UNITS = tuple(
    f"/etc/systemd/system/sovctl-{name}*"
    for name in (
        "pool-",
        "group-",
        "mps-",
        "probe-",
        "canary-",
        "gateway.",
        "hardware.",
        "mirror.",
        "monitoring-",
        "retrieval",
    )
)
"""Unit files and folders of drop-ins."""
LEDGER = f"{DATA}/ledger"
ENGINE_HOME = "/var/lib/sovctl/vllm"
"""Home and working folder of pools (`roles/pool/templates/unit.service.j2`)."""
SERVICES, ADMINISTRATORS, REGISTRATION = "services", "administrators", "registration"

STEPS: tuple[Step, ...] = (
    Step(SERVICES, "units of pools, probes, gateway, retrieval and monitoring", paths=UNITS),
    Step("secrets", "keys and certificates are overwritten", paths=(f"{TLS}/*", f"{SECRETS}/*", SIEM_CA), erases=True),
    Step(
        "data",
        f"vault and caches are overwritten; the audit log {LEDGER} stays",
        paths=(DATA, ENGINE_HOME, CACHE, RETRIEVAL_DATA, *monitoring.FOLDERS),
        erases=True,
    ),
    Step("environments", "Python environments and programs", paths=(ENVIRONMENTS, LAUNCHER.rpartition("/")[0])),
    Step("models", "model weights, and files of the mirror", paths=(STORE.rpartition("/")[0], f"{STORE}/*")),
    Step(
        "accounts",
        "accounts of the services",
        accounts=SERVICE_USERS,
        groups=(*SERVICE_USERS, SECRETS_GROUP),
    ),
    Step(
        ADMINISTRATORS,
        "keys and sudo rules; the accounts are locked, their home folders stay",
        paths=(f"{administrator.KEYS}/*", f"{administrator.SUDO}/sovctl-*"),
    ),
    Step(
        "settings",
        "files that sovctl wrote; values in use stay until the next boot",
        paths=(
            TLS.rpartition("/")[0],
            SYSCTL_FILE,
            LIMITS_FILE,
            kernel.BOOT_FILE,
            kernel.LOAD_FILE,
            kernel.OPTIONS_FILE,
            audit.RULES_FILE,
            log_forwarding.FILE,
            sshd.FILE,
            resolver.DROP_IN,
            RETRIEVAL,
            container_toolkit.SPECIFICATIONS[-1],
        ),
        blocks={hosts_file.FILE: (hosts_file.BEGIN, hosts_file.END)},
    ),
    Step(
        "package-sources",
        "the site's mirror and its key; former sources are in /var/backups",
        paths=(SOURCE, KEY, POLICY, PREFERENCES, MIRRORS, mirror_urls.CA, DNF_SOURCE),
    ),
    Step(
        "firewall", "last, because it protects the node until no secret is left", paths=(FIREWALL_FILE,), firewall=True
    ),
)

LEFT: Mapping[str, str] = {
    "packages": "other software can use them; a reinstallation of the operating system removes them",
    f"{CHRONY_FILE}, {audit.SETTINGS_FILE}, {resolver.FILE}": "the operating system needs them",
    "journal and logs": "records of the node",
    "retrieval.data on a file system of its own": "erase the file system with its LUKS header",
    LEDGER: "audit log of a gateway: archive it, then delete it",
    "access.user": "sovctl and its operators reach the node with it",
    "network file systems": "other nodes can use them",
}
"""Things that stay on a removed node, with the reason."""

AFTER: Mapping[str, str] = {
    sshd.FILE: "systemctl try-reload-or-restart ssh.service || systemctl try-reload-or-restart sshd.service",
    log_forwarding.FILE: f"systemctl try-restart {log_forwarding.UNIT}.service",
    resolver.DROP_IN: f"systemctl try-restart {resolver.UNIT}.service",
    audit.RULES_FILE: "! auditctl -s >/dev/null 2>&1 || augenrules --load",
    kernel.BOOT_FILE: "! command -v update-grub >/dev/null || update-grub",
    kernel.OPTIONS_FILE: "! command -v update-initramfs >/dev/null || update-initramfs -u -k all",
    hardware.UNIT_FILE: "systemctl daemon-reload",
}
"""Shell command after the removal of a file."""


def kept() -> list[str]:
    """Return the paths below the folders of the steps that stay on the node."""
    return [LEDGER]
