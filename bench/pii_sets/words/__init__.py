"""Words of the generated sets, as YAML: sentences, labels and names, most of them by language."""
