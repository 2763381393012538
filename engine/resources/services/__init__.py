"""Services of a node: configuration of systemd units, daemons that must restart, and reboots."""
