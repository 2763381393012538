"""In which order things are brought about on a node, and the one place that lists them."""

from __future__ import annotations

from ..resources import (
    clock,
    credential,
    environment,
    model,
    package,
    perimeter,
    pool,
    repository,
    service,
    tuning,
)
from ..resources import gateway_config as gateway
from ..resources.resource_type import Kind

# Packages need the mirror; the wall goes up before anything secret or served arrives; pools need weights,
# certificates and an engine; the gateway comes last.
KINDS: tuple[Kind, ...] = (
    repository.KIND,
    package.KIND,
    service.KIND,
    tuning.KIND,
    clock.KIND,
    perimeter.KIND,
    credential.KIND,
    environment.KIND,
    model.KIND,
    pool.KIND,
    gateway.KIND,
)
