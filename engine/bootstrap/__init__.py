"""First access to the nodes of a closed site: host keys that a person has read, before the first ssh connection."""
