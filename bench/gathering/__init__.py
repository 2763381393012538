"""Targets and contenders of the benchmark of facts: ssh servers on loopback, sovctl, Ansible and pyinfra."""
