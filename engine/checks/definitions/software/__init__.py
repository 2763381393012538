"""Software of nodes: driver packages at the versions of the lock, held, and from the site's mirror."""
