"""Parts of answers that several APIs share: JSON, model strings, restoring, replacement answers."""
