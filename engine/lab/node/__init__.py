"""One lab node: container, ssh access, shell."""
