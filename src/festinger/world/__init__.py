"""Knowledge about things: vocabulary, saliency, a graph of edges, conflicts and recollections.

Holds words with their saliency (`counts`), edges with who stated them (`state`, `write`), what cannot both
hold (`conflicts`, `decisions`) and what nobody vouches for (`quarantine`). `recall` serves conversations and
`graph` keeps worlds in memory. `consolidation` decides when and by which judge conflicts are resolved;
memories that are sentences belong to `memory`.
"""
