"""Units: configuration and state of the systemd units that sovctl manages or watches."""
