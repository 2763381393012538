"""Resources of a gateway node: its settings file, rendered from `site.yaml`, and its systemd unit."""
