"""GPUs on the PCI bus: independent views agree, identities are unique, NUMA nodes, and link errors as rates."""
