"""Resources of the operating system of a node: accounts, ssh, names, kernel, storage, audit, logs."""
