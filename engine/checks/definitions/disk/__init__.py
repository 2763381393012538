"""Disks of nodes: space, health, RAID, encryption and mounts."""
