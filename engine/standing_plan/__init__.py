"""Standing plans of autoscaling: terms, signatures of two persons, state, metrics, and the run inside a plan."""
