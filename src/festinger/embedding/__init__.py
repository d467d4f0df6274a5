"""Turns texts into vectors, and pairs of texts into scores.

Holds the `Embedder` and `Reranker` ports, one file per provider, and the profiles with every threshold of a
model. It decides how a text is prepared for a model and when an answer may be cached. `store` keeps vectors;
`memory` and `retrieval` interpret closeness.
"""
