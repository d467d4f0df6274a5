"""Providers of language models, one file each, loaded when an endpoint is first opened."""
