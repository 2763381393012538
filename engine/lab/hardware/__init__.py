"""Simulated hardware of the lab, and its injected faults."""
