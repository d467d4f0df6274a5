"""Decides which memories and turns to recall for a cue, in which order, or that nothing is relevant.

Owns the word counts, the searchable turns and the log of recalls. Other packages own what is stored and in
which state (`memory`), vectors and their thresholds (`embedding`), what use does to a memory (`outcomes`) and
where notes go in a prompt (`proxy`, `agent`).

What other packages call, most with a `deps.RetrievalDeps`:

    recall.recall                                 the few memories worth showing, or none
    notes.load_current_memories                   the current state of memories shown before
    index.terms.NonEmptySpaces                    whether a space holds anything at all
    index.terms.count_words_of_changed_texts / recount_words       how common words are
    index.turns.index_turns                       makes turns searchable
    log.load_recalls / find_recall / prune_recalls
    maintenance.erase_recall_data                 erases within the transaction that forgets
"""
