"""InfiniBand fabric: cabling, rails, links, names, subnet manager, SHARP and error counters; measured on one node."""
