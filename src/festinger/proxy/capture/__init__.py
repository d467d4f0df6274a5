"""Records exchanges: builds what is kept, queues it, spools it to disk and writes it to the store."""
