"""Perimeter: the firewall drops by default, and only the gateway can reach the configured exceptions."""
