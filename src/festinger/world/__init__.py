"""What is known of things: vocabulary, saliency, a graph of edges, collisions, recollections.

Keeps words with how much they stand out (`vocabulary`, `encounters`), edges with who said them and what became of
them (`state`, `history`), what cannot both stand (`conflicts`, `decisions`) and what nobody vouches for
(`quarantine`). Decides purely in `collision`, `corroboration`, `claims` and `recollection`; `recollector` is its face
towards conversations, `worlds` its memory. When conflicts are resolved, and by which judge, is left to
`consolidation`; memories that are sentences are left to `memory`.
"""
