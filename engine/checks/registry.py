"""Every check, in the order of reports. A new check is one file and one line here.

The controls of a check are those of NIST SP 800-53 Rev. 5 for which its result is evidence. The control maps in
`compliance/packs/` state which part of a control that is, and which part people decide.
"""

from __future__ import annotations

from typing import Any

from .definitions.access.ssh_keys_only import SshKeysOnly
from .definitions.clock.synchronized import ClockSynchronized
from .definitions.gateway.answers import GatewayAnswers
from .definitions.gateway.audit_record_per_request import AuditRecordPerRequest
from .definitions.gateway.ledger_verifies import GatewayLedgerVerifies
from .definitions.gateway.only_tokens_leave import OnlyTokensLeave
from .definitions.gateway.rejects_without_key import RejectsWithoutKey
from .definitions.gateway.vault_encrypted import VaultEncrypted
from .definitions.gpu.count import GpuCount
from .definitions.gpu.ecc import GpuEcc
from .definitions.gpu.pcie_link import GpuPcieLink
from .definitions.gpu.persistence import GpuPersistence
from .definitions.gpu.row_remap import GpuRowRemap
from .definitions.gpu.temperature import GpuTemperature
from .definitions.ib.ports_active import PortsActive
from .definitions.model.checksum import ModelChecksum
from .definitions.nvlink.errors_zero import ErrorsZero
from .definitions.nvlink.fabric_ready import FabricReady
from .definitions.nvlink.links_active import LinksActive
from .definitions.nvlink.peer_access import PeerAccess
from .definitions.perimeter.default_drop import DefaultDrop
from .definitions.perimeter.exception_only_from_gateway import ExceptionOnlyFromGateway
from .definitions.perimeter.no_way_out import NoWayOut
from .definitions.plan.empty_after_apply import EmptyAfterApply
from .definitions.plan.nothing_unmanaged import NothingUnmanaged
from .definitions.pool.flags_as_planned import FlagsAsPlanned
from .definitions.pool.offline_settings import OfflineSettings
from .definitions.pool.probe_answers import ProbeAnswers
from .definitions.pool.tls_client_certificate_required import TlsClientCertificateRequired
from .definitions.pool.unauthenticated_paths_closed import UnauthenticatedPathsClosed
from .definitions.site.keys_private import KeysPrivate
from .definitions.site.ledger_verifies import SiteLedgerVerifies
from .definitions.site.root_certificate_lasts import RootCertificateLasts
from .definitions.software.driver_exact import DriverExact
from .definitions.software.environment_files import EnvironmentFiles
from .definitions.software.fabric_manager_equals_driver import FabricManagerEqualsDriver
from .definitions.software.packages_held import PackagesHeld
from .definitions.software.sources_only_mirror import SourcesOnlyMirror
from .model.check import Check

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
    EnvironmentFiles(),
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
    NothingUnmanaged(),
    SiteLedgerVerifies(),
    KeysPrivate(),
    RootCertificateLasts(),
)

BY_ID = {check.id: check for check in CHECKS}
KNOWN_CHECKS = frozenset(BY_ID)
"""Check ids that a control map may name, in addition to the keys of `FORMER_IDS`."""
FORMER_IDS = {former: check.id for check in CHECKS for former in check.former_ids}
"""Current check id by former id."""
