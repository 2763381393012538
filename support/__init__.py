"""Code without domain knowledge: errors with exit codes, canonical JSON, strict YAML, atomic files, worker threads."""
