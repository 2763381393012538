"""Log and traces of the gateway; metrics are in `metrics/`."""
