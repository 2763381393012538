"""Linux primitives of the lab: cgroups, mounts, namespaces, processes."""
