"""Model of an InfiniBand fabric: topology, names, rails, planned cabling, findings, and a drawing. Pure."""
