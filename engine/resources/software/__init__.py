"""Software of a node: package sources, packages, their dependencies, Python environments, models, and their files."""
