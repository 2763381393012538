"""Kernel log since the last boot: errors of GPUs, NVSwitches, adapters and the PCI bus."""
