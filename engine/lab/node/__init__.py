"""One node of a lab: container, ssh access, shell."""
