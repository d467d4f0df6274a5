"""Review channels beside the console: files, webhooks, and the queue of what waits."""
