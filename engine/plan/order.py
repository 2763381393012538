"""In which order things are brought about on a node, and the one place that lists them."""

from __future__ import annotations

from sovctl.engine.plan.kinds import (
    clock,
    credential,
    environment,
    gateway,
    model,
    package,
    perimeter,
    pool,
    repository,
    service,
    tuning,
)
from sovctl.engine.plan.kinds.kind import Kind

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
