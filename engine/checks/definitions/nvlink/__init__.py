"""NVLink: links, error counters, peer access, and the state of the fabric."""
