"""Channels through which people decide beside the console: files and webhooks."""
