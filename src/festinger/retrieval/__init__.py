"""What should be brought to mind?

Keeps how common each word is, what was said as it is searched, and the record of every recall. Decides which memories
and turns come to mind for a cue, in which order, or that nothing does. Left to others: what is stored and in which
state (`memory`), vectors and their thresholds (`embedding`), what use does to a memory (`outcomes`), where notes go in
a prompt (`proxy`, `agent`).

What other rooms call, each taking a `desk.Desk`:

    recall.recall(desk, place, wish)                      the few memories worth showing, or none
    standing.standings(desk, place, memories)             how what was shown stands today
    holding.Holdings                                      whether a space holds anything at all
    counting.count_words / recount                        how common words are
    turns.index_turns(desk, space)                        makes what was said searchable
    record.recalls / find_recall / prune_recalls          what was recalled
    due.due(desk, place)                                  what should come to mind by itself now
    blends.learn_blends / undo_blend                      what outcomes teach the mind of an agent
    forgetting.forget(transaction, space, memories)       within the delivery that tells of forgetting
"""
