"""One gateway process: its components, reload, supervisor and server."""
