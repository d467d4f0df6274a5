"""Channels through which people decide beside the console: webhooks."""
