"""Paths and ports of the monitoring services on nodes."""

from __future__ import annotations

NODE_EXPORTER_PORT, DCGM_EXPORTER_PORT, PROMETHEUS_PORT, ALERTMANAGER_PORT = 9100, 9400, 9090, 9093
"""Defaults of the programs."""
FOLDER = "/etc/sovctl/monitoring"
RULES = f"{FOLDER}/rules.yaml"
TEXTFILES = "/var/lib/sovctl/metrics"
"""Folder of the textfile collector of the node exporter, which only root can write."""
