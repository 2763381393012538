"""Every check, in the order of reports. A new check is one file and one line here.

The controls of a check are those of NIST SP 800-53 Rev. 5 for which its result is evidence. The control maps in
`compliance/packs/` state which part of a control that is, and which part people decide.
"""

from __future__ import annotations

from typing import Any

from ..model.check import Check
from .access.ssh_keys_only import SshKeysOnly
from .clock.synchronized import ClockSynchronized
from .gateway.answers import GatewayAnswers
from .gateway.audit_record_per_request import AuditRecordPerRequest
from .gateway.ledger_verifies import GatewayLedgerVerifies
from .gateway.only_tokens_leave import OnlyTokensLeave
from .gateway.rejects_without_key import RejectsWithoutKey
from .gateway.vault_encrypted import VaultEncrypted
from .gpu.count import GpuCount
from .gpu.ecc import GpuEcc
from .gpu.pcie_link import GpuPcieLink
from .gpu.persistence import GpuPersistence
from .gpu.row_remap import GpuRowRemap
from .gpu.temperature import GpuTemperature
from .ib.ports_active import PortsActive
from .model.checksum import ModelChecksum
from .nvlink.errors_zero import ErrorsZero
from .nvlink.fabric_ready import FabricReady
from .nvlink.links_active import LinksActive
from .nvlink.peer_access import PeerAccess
from .perimeter.default_drop import DefaultDrop
from .perimeter.exception_only_from_gateway import ExceptionOnlyFromGateway
from .perimeter.no_way_out import NoWayOut
from .plan.empty_after_apply import EmptyAfterApply
from .pool.flags_as_planned import FlagsAsPlanned
from .pool.offline_settings import OfflineSettings
from .pool.probe_answers import ProbeAnswers
from .pool.tls_client_certificate_required import TlsClientCertificateRequired
from .pool.unauthenticated_paths_closed import UnauthenticatedPathsClosed
from .site.keys_private import KeysPrivate
from .site.ledger_verifies import SiteLedgerVerifies
from .site.root_certificate_lasts import RootCertificateLasts
from .software.driver_exact import DriverExact
from .software.fabric_manager_equals_driver import FabricManagerEqualsDriver
from .software.packages_held import PackagesHeld
from .software.sources_only_mirror import SourcesOnlyMirror

CHECKS: tuple[Check[Any], ...] = (
    SshKeysOnly(),
    ClockSynchronized(),
    DefaultDrop(),
    NoWayOut(),
    ExceptionOnlyFromGateway(),
    DriverExact(),
    FabricManagerEqualsDriver(),
    PackagesHeld(),
    SourcesOnlyMirror(),
    GpuCount(),
    GpuEcc(),
    GpuRowRemap(),
    GpuPersistence(),
    GpuPcieLink(),
    GpuTemperature(),
    LinksActive(),
    ErrorsZero(),
    PeerAccess(),
    FabricReady(),
    PortsActive(),
    ModelChecksum(),
    FlagsAsPlanned(),
    ProbeAnswers(),
    TlsClientCertificateRequired(),
    UnauthenticatedPathsClosed(),
    OfflineSettings(),
    GatewayAnswers(),
    RejectsWithoutKey(),
    OnlyTokensLeave(),
    VaultEncrypted(),
    GatewayLedgerVerifies(),
    AuditRecordPerRequest(),
    EmptyAfterApply(),
    SiteLedgerVerifies(),
    KeysPrivate(),
    RootCertificateLasts(),
)

BY_ID = {check.id: check for check in CHECKS}
KNOWN_CHECKS = frozenset(BY_ID)
"""Check ids that a control map may name, in addition to the keys of `FORMER_IDS`."""
FORMER_IDS = {former: check.id for check in CHECKS for former in check.former_ids}
"""Current check id by former id."""
