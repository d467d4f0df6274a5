"""Where a command gets its data: a running server, or the store opened directly."""
