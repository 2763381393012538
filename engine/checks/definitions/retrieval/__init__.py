"""Checks of the retrieval service and its database on the node of `retrieval`."""
