"""From a site to what each check expects of a node. Pure; a check that does not apply gives nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from ...catalog.figure import Figure
from ...catalog.platforms import PlatformComponent
from ...certificate_authority import LEAF_DAYS
from ...resources import gateway_config as gateway_kind
from ...resources import model as model_kind
from ...resources import pool as pool_kind
from ...resources.context import GATEWAY_UID
from ...resources.credential import credentials_on
from ...resources.environment import GATEWAY, ROOT
from ...spec import Node
from ..model.check_context import Estate
from .gateway import GatewayExpectation, LeavingExpectation
from .gpu import GpuExpectation
from .host import ClockExpectation, SshExpectation
from .infiniband import InfinibandExpectation
from .model_store import ModelExpectation
from .nvlink import FabricExpectation, LinkExpectation
from .perimeter import (
    Endpoint,
    ExceptionExpectation,
    NoWayOutExpectation,
    WallExpectation,
)
from .plan import PlanExpectation
from .pool import PoolExpectation
from .site import (
    GROUP_MAY_READ,
    AuthorityExpectation,
    KeysExpectation,
    LedgerExpectation,
    PrivateFile,
)
from .software import DriverExpectation, MirrorExpectation

NOWHERE = Endpoint("192.0.2.1", 443)
"""TEST-NET-1, RFC 5737: nobody's address. Stands for the internet: a packet to it must not leave a node."""
CLOSED_PORTS = (9, 80, 22)
"""Tried in this order at the first exception's address: a port that is no exception. 9 is discard, RFC 863."""


def ssh(estate: Estate, _node: Node) -> Iterator[SshExpectation]:
    """Every node, for our login and for root."""
    yield SshExpectation(users=tuple(dict.fromkeys((estate.context.spec.access.user, "root"))))


def clock(estate: Estate, _node: Node) -> Iterator[ClockExpectation]:
    """Every node."""
    chosen = estate.context.spec.clock
    yield ClockExpectation(servers=tuple(chosen.servers), max_offset_ms=chosen.max_offset_ms)


def wall(_estate: Estate, _node: Node) -> Iterator[WallExpectation]:
    """Every node."""
    yield WallExpectation()


def no_way_out(estate: Estate, _node: Node) -> Iterator[NoWayOutExpectation]:
    """Every node: the named exceptions' own places (root is not the gateway), a port beside them, and the internet."""
    endpoints = _exceptions(estate)
    beside = [
        Endpoint(endpoints[0].address, port)
        for port in CLOSED_PORTS
        if endpoints and Endpoint(endpoints[0].address, port) not in endpoints
    ]
    yield NoWayOutExpectation(endpoints=(*endpoints, *beside[:1], NOWHERE))


def exceptions(estate: Estate, node: Node) -> Iterator[ExceptionExpectation]:
    """Every node of a site with named exceptions."""
    if endpoints := _exceptions(estate):
        expired = [
            Endpoint(str(each.address), each.port)
            for each in estate.context.spec.perimeter.exceptions
            if date.fromisoformat(str(each.expires)) < estate.today
        ]
        yield ExceptionExpectation(
            endpoints=endpoints, is_gateway=estate.context.is_gateway(node), expired=tuple(expired)
        )


def _exceptions(estate: Estate) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(str(each.address), each.port) for each in estate.context.spec.perimeter.exceptions)


def driver(estate: Estate, node: Node) -> Iterator[DriverExpectation]:
    """Nodes for which the lock has packages."""
    lock = estate.context.lock
    if packages := {each.name: each.version for each in lock.packages_for(estate.context.platform(node))}:
        yield DriverExpectation(lock=lock.id, driver_version=lock.driver_version, packages=packages)


def fabric_manager(estate: Estate, node: Node) -> Iterator[DriverExpectation]:
    """Nodes with NVSwitches of their own."""
    if PlatformComponent.NVSWITCH in estate.context.platform(node).parts:
        yield from driver(estate, node)


def mirror(estate: Estate, _node: Node) -> Iterator[MirrorExpectation]:
    """Every node."""
    yield MirrorExpectation(apt_url=str(estate.context.spec.artifacts.apt_url).rstrip("/"))


def gpu(estate: Estate, node: Node) -> Iterator[GpuExpectation]:
    """Nodes with GPUs."""
    platform = estate.context.platform(node)
    if platform.has_gpus:
        yield GpuExpectation(
            count=_integer(platform.checks.gpu_count),
            pci_device_id=_word(platform.checks.gpu_pci_id),
            pcie_gen=_integer(platform.checks.pcie_gen),
            pcie_width=_integer(platform.checks.pcie_width),
        )


def links(estate: Estate, node: Node) -> Iterator[LinkExpectation]:
    """Nodes with NVLink, or whose catalogue entry does not say."""
    platform = estate.context.platform(node)
    checks = platform.checks
    if platform.has_gpus and (checks.nvlinks_per_gpu is None or checks.nvlinks_per_gpu.applies):
        yield LinkExpectation(
            gpus=_integer(checks.gpu_count),
            links=_integer(checks.nvlinks_per_gpu),
            link_gb_s=_number(checks.nvlink_gb_s),
            topology=_word(checks.topo_gpu_link),
        )


def fabric(estate: Estate, node: Node) -> Iterator[FabricExpectation]:
    """Nodes with an NVLink fabric, or whose catalogue entry does not say."""
    platform = estate.context.platform(node)
    checks = platform.checks
    if not platform.has_gpus or (checks.fabric_services is not None and not checks.fabric_services.value):
        return
    services = checks.fabric_services.value if checks.fabric_services else ()
    yield FabricExpectation(
        gpus=_integer(checks.gpu_count),
        services=services if isinstance(services, tuple) else (str(services),),
        state=_word(checks.fabric_state),
        status=_word(checks.fabric_status),
        health=_word(checks.fabric_health),
        has_cluster=bool(checks.fabric_has_cluster_uuid and checks.fabric_has_cluster_uuid.value),
        is_known=None not in (checks.fabric_state, checks.fabric_status, checks.fabric_health, checks.fabric_services),
    )


def infiniband(estate: Estate, node: Node) -> Iterator[InfinibandExpectation]:
    """Every node; a service node has no compute fabric."""
    platform = estate.context.platform(node)
    nics = platform.checks.compute_nics
    has_none = not platform.has_gpus or (nics is not None and not nics.applies)
    yield InfinibandExpectation(
        ports=0 if has_none else _integer(nics), rate_gbit_s=_number(platform.checks.compute_nic_gbit_s)
    )


def model(estate: Estate, node: Node) -> Iterator[ModelExpectation]:
    """Every model that a pool on the node serves, and its adapters."""
    for folder in model_kind.folders(estate.context, node):
        yield ModelExpectation(subject=folder.name, manifest_sha256=folder.manifest_sha256)


def pool(estate: Estate, node: Node) -> Iterator[PoolExpectation]:
    """Every replica with a rank on the node."""
    context = estate.context
    for replica in context.replicas_on(node):
        rank = next(each for each in replica.ranks if each.node == node.name)
        name = pool_kind.instance(replica)
        yield PoolExpectation(
            subject=name,
            unit=f"{pool_kind.unit_name(replica)}.service",
            config=f"{pool_kind.FOLDER}/{name}.yaml",
            flags=pool_kind.flags(context, replica, rank),
            address=str(context.spec.node(replica.ranks[0].node).address),
            port=replica.port,
        )


def pool_door(estate: Estate, node: Node) -> Iterator[PoolExpectation]:
    """Every replica whose head, the only rank that listens for clients, is the node."""
    heads = {pool_kind.instance(each) for each in estate.context.replicas if each.ranks[0].node == node.name}
    yield from (each for each in pool(estate, node) if each.subject in heads)


def gateway(estate: Estate, node: Node) -> Iterator[GatewayExpectation]:
    """Gateway nodes, as the first client of site.yaml sees them."""
    context = estate.context
    if not context.is_gateway(node):
        return
    client = context.gateway.clients[0]
    routes = [each for each in context.gateway.routes if not client.routes or each.model in client.routes]
    if routes:
        yield GatewayExpectation(
            url=f"https://{node.address}:{context.gateway.port}",
            models=tuple(each.model for each in routes),
            cloud_model=next((each.model for each in routes if each.cloud and each.prefer == "cloud"), None),
            key=client.api_key,
        )


def leaving(estate: Estate, node: Node) -> Iterator[LeavingExpectation]:
    """Gateway nodes."""
    if estate.context.is_gateway(node):
        yield LeavingExpectation(config=gateway_kind.CONFIG)


def vault(estate: Estate, node: Node) -> Iterator[GatewayExpectation]:
    """Gateway nodes of a site where something is tokenized at all."""
    yield from (each for each in gateway(estate, node) if each.cloud_model is not None)


def gateway_ledger(estate: Estate, node: Node) -> Iterator[LedgerExpectation]:
    """Gateway nodes."""
    if estate.context.is_gateway(node):
        yield LedgerExpectation(
            program=f"{ROOT}/{GATEWAY}/bin/sovctl",
            directory=f"{gateway_kind.DATA}/ledger",
            origin=f"sovctl.{estate.context.spec.site.name}/gateway",
        )


def site_ledger(estate: Estate) -> Iterator[LedgerExpectation]:
    """This controller."""
    yield LedgerExpectation(
        program=estate.controller.program,
        directory=estate.controller.ledger,
        origin=f"sovctl.{estate.context.spec.site.name}/site",
    )


def site_plan(estate: Estate) -> Iterator[PlanExpectation]:
    """This controller, for every node of the site."""
    yield PlanExpectation(
        program=estate.controller.program,
        site_file=estate.controller.site_file,
        state=estate.controller.state,
        nodes=tuple(node.name for _, node in estate.context.spec.nodes()),
    )


def node_keys(estate: Estate, node: Node) -> Iterator[KeysExpectation]:
    """Nodes that hold a private key or a secret: the gateway's alone, or root's and readable by the services' group."""
    files = [
        PrivateFile(each.path, owner=GATEWAY_UID)
        if each.is_gateways
        else PrivateFile(each.path, forbidden_bits=GROUP_MAY_READ, owner=0)
        for each in credentials_on(estate.context, node)
        if not each.path.endswith(".pem")
    ]
    if files:
        yield KeysExpectation(files=tuple(files))


def controller_keys(estate: Estate) -> Iterator[KeysExpectation]:
    """This controller: its operator's alone."""
    yield KeysExpectation(
        files=tuple(PrivateFile(path) for path in estate.controller.private_files),
        patterns=estate.controller.private_patterns,
    )


def controller_authority(estate: Estate) -> Iterator[AuthorityExpectation]:
    """This controller: a year before leaves would outlive the root there is time to replace it."""
    needed = estate.today + timedelta(days=LEAF_DAYS)
    yield AuthorityExpectation(
        file=estate.controller.root_certificate,
        needed_until=needed,
        wanted_until=needed + timedelta(days=365),
    )


def _integer(figure: Figure | None) -> int | None:
    return figure.value if figure and isinstance(figure.value, int) else None


def _number(figure: Figure | None) -> float | None:
    return float(figure.value) if figure and isinstance(figure.value, int | float) else None


def _word(figure: Figure | None) -> str | None:
    return figure.value if figure and isinstance(figure.value, str) else None
