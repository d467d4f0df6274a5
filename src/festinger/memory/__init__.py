"""What is remembered: statements, where they came from, how they relate, and how deeply they are held.

Keeps memories with their vectors, sightings, links and changes. Decides what a new statement is (the same, an
update, a contradiction, an addition, or new), who may replace whom, what is locked away and what each cause is
worth. Left to others: finding things again (`retrieval`), what use did to a memory (`outcomes`), how two statements
relate (`judge`), the queue of conflicts (`world`), sleep (`consolidation`).

What other rooms call, each taking a `desk.Desk`:

    learn.learn(desk, place, given) -> Learned            the one way in, in twelve steps
    batch.learn_many(desk, place, items, progress=)       the same for many, a hundred a transaction
    history.get / current / history / page / believed     reading, also as of a moment
    why.why(desk, place, id) -> Why                       on what a belief rests
    revising.edit / archive / restore / supersede / merge / let_change,  splitting.split
    releasing.release / reject                            out of quarantine, by a person
    undoing.undo(desk, space, change, by=)                any change but a repair
    settling.settle / unsettle                            a verdict on two memories, within its transaction
    belief.hold, belief.apply_effects, belief.weigh       what outcomes and sleep move, with the arithmetic of
                                                          confidence.signalled / signalled_passively and
                                                          weight.reinforced / weakened
    pairs.judge_pairs, load_pair, settle_pair             late words of judges
    recheck.recheck, recheck.embed_missing                looking again, and vectors that were missing
    links.lower_trust                                     when a source is trusted less
"""
