"""What all sections of `gateway.yaml` share: base model, names, URLs, client APIs."""
