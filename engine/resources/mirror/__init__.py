"""Resources of mirror nodes: the selected snapshot, and the server of its files; and the URLs that nodes use."""
