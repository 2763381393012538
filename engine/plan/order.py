"""All resource types, in the order in which they are applied on a node."""

from __future__ import annotations

from ..resources import attributes, clock, credential, perimeter, pool, swap_group, tuning
from ..resources.gateway import service as gateway
from ..resources.host import (
    administrator,
    audit,
    container_toolkit,
    gpu_modes,
    hardware,
    hosts_file,
    imex,
    kernel,
    log_forwarding,
    resolver,
    service_account,
    sshd,
    storage,
)
from ..resources.mirror import server, snapshot
from ..resources.monitoring import monitoring
from ..resources.resource_type import ResourceType
from ..resources.retrieval import retrieval
from ..resources.services import reboot, service, unit
from ..resources.software import environment, model, package, repository, superseded_environment

# Packages need the mirror; a mirror node uses its own files. All changes that need a reboot precede it, so that one is
# enough. The firewall precedes secrets and services, and accounts precede the files that they own. Pools need weights,
# certificates and an engine. The gateway and retrieval need the pools, and monitoring all its targets. Superseded
# environments are last, because services use them until their restart.
_OTHERS: tuple[ResourceType, ...] = (
    snapshot.RESOURCE_TYPE,
    repository.RESOURCE_TYPE,
    package.RESOURCE_TYPE,
    imex.RESOURCE_TYPE,
    service.RESOURCE_TYPE,
    tuning.RESOURCE_TYPE,
    kernel.RESOURCE_TYPE,
    hardware.RESOURCE_TYPE,
    storage.RESOURCE_TYPE,
    reboot.RESOURCE_TYPE,
    gpu_modes.RESOURCE_TYPE,
    container_toolkit.RESOURCE_TYPE,
    clock.RESOURCE_TYPE,
    hosts_file.RESOURCE_TYPE,
    resolver.RESOURCE_TYPE,
    administrator.RESOURCE_TYPE,
    sshd.RESOURCE_TYPE,
    audit.RESOURCE_TYPE,
    perimeter.RESOURCE_TYPE,
    service_account.RESOURCE_TYPE,
    credential.RESOURCE_TYPE,
    server.RESOURCE_TYPE,
    log_forwarding.RESOURCE_TYPE,
    environment.RESOURCE_TYPE,
    model.RESOURCE_TYPE,
    pool.RESOURCE_TYPE,
    swap_group.RESOURCE_TYPE,
    retrieval.RESOURCE_TYPE,
    gateway.RESOURCE_TYPE,
    monitoring.RESOURCE_TYPE,
    superseded_environment.RESOURCE_TYPE,
)

# An immutable file cannot be written, and a mask or a drop-in changes what a restart does.
RESOURCE_TYPES: tuple[ResourceType, ...] = (
    attributes.RESOURCE_TYPE,
    unit.resource_type(lambda: _OTHERS),
    *_OTHERS,
)
