"""Providers of embeddings and rerankers, one file each, loaded when chosen."""
