"""Checks of Prometheus and Alertmanager on the node of `monitoring.server`."""
