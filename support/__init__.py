"""Code without domain knowledge: errors, canonical JSON, strict YAML, atomic files, threads."""
