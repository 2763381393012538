"""The ASGI application: HTTP requests in, HTTP responses out."""
