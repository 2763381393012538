"""Applies a plan: stale check, lock, waves, Ansible, journal."""
