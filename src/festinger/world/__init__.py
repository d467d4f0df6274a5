"""The shared world: vocabulary, saliency and the graph of concepts.

Will keep SOAS and URD, the collisions between facts and the queue in which they wait. Not built yet.
"""
