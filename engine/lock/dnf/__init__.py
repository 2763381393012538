"""Locks of RHEL packages, made by dnf with private folders."""
