"""New site.yaml from the answers of `sovctl init`: questions, offers of models that fit, and the text."""
