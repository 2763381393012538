"""Types shared by all sections of `gateway.yaml`: base model, names, URLs, client APIs."""
