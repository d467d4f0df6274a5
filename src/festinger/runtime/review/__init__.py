"""Review channels beside the console: webhooks, and the queue of what waits."""
