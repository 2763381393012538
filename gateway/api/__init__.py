"""The ASGI application for clients."""
