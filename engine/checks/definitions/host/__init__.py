"""Operating system of nodes: name, kernel, limits, listeners, programs, logs."""
