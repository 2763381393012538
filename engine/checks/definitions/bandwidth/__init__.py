"""Rates of copies between hosts and GPUs, measured with nvbandwidth."""
