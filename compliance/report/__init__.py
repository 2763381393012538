"""Reports: one document, its renderings, and the single file that checks it without us."""
