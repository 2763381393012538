"""Resources of monitoring: Prometheus and Alertmanager on one node, and a node exporter on every node."""
