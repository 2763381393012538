"""Upstreams that serve every surface, in the place of those that only chat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from surface_upstream import PoolUpstream, SurfaceUpstream


@pytest.fixture(scope="module")
def pool(pki: Any) -> Iterator[SurfaceUpstream]:
    with PoolUpstream(pki.certificate_file, pki.key_file, client_ca_file=pki.ca_file) as upstream:
        yield upstream


@pytest.fixture(scope="module")
def cloud(pki: Any) -> Iterator[SurfaceUpstream]:
    with SurfaceUpstream(pki.certificate_file, pki.key_file) as upstream:
        yield upstream
