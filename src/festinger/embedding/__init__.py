"""Turning texts into vectors, and pairs of texts into scores.

Keeps the `Embedder` and `Reranker` ports, one file a provider, and the profiles that hold every threshold of a
model. Decides how a purpose is written for a model and when an answer may be cached. It leaves to `store`
where vectors lie, and to `memory` and `retrieval` what closeness means.
"""
