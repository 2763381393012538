"""Accounts of sovctl's services on nodes. Their names are reserved, and their IDs are the same on every node."""

from __future__ import annotations

GATEWAY_USER, GATEWAY_UID = "sovctl-gateway", 964
ENGINE_USER, ENGINE_UID = "sovctl-vllm", 963
MONITORING_USER, MONITORING_UID = "sovctl-monitor", 961
RETRIEVAL_USER, RETRIEVAL_UID = "sovctl-retrieval", 960
SERVICE_USERS = (ENGINE_USER, GATEWAY_USER, MONITORING_USER, RETRIEVAL_USER)
SECRETS_GROUP, SECRETS_GID = "sovctl", 962
"""Fixed IDs, so that a firewall rule can name the gateway's user before the user exists. They are below the dynamic IDs
of Debian, which adduser assigns from 999 downward."""
