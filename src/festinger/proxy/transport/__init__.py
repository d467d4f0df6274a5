"""Serves HTTP connections, reads bodies, forwards to the upstream and streams what comes back."""
