"""The HTTP server, its page, and a client for it."""
