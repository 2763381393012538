"""Lab: a site of containers on one machine, for tests and demonstrations (`sovctl lab up`).

The nodes are booted systems with systemd, ssh, a firewall and an isolated network. The lab has an apt repository,
wheels, an NTP server, an InfiniBand fabric, and a host outside the perimeter that simulates a cloud. Hardware is
simulated, and its output is marked `simulated`.
"""
