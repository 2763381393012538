"""Names of scrape jobs, and the place of a series for summaries of alerts."""

from __future__ import annotations

POOLS, GATEWAYS, NODES, GPUS = "sovctl-pools", "sovctl-gateways", "sovctl-nodes", "sovctl-gpus"
RETRIEVAL = "sovctl-retrieval"
"""Values of the label `job`: replicas of pools, gateways, node exporters, DCGM exporters, the retrieval service."""

ON_NODE = "{{ $labels.node }}"
ON_GPU = "GPU {{ $labels.gpu }} of {{ $labels.node }}"
ON_PORT = "{{ $labels.device }} port {{ $labels.port }} of {{ $labels.node }}"
ON_REPLICA = "replica {{ $labels.replica }} of pool {{ $labels.pool }} on {{ $labels.node }}"
