"""Stores statements with their provenance, relations, confidence and weight.

Decides whether a statement is the same as, updates, contradicts, refines or adds to what is known, what may
replace what, what is quarantined, and what each cause is worth. Other packages do the rest: search
(`retrieval`), effects of use (`outcomes`), judging pairs (`judge`), the conflict queue (`world`), the night
(`consolidation`).

Entry points, each taking a `deps.MemoryDeps`:

    learn.pipeline.learn, learn_many                  the only way in, for one statement or many
    query.get_memory, page_memories, load_history     reading, also as of a past moment
    query.explain_belief                              what a belief rests on
    edit, undo, erasure                               changes by people, their undo, and erasure
    conflicts.apply_verdict, undo_verdict             a verdict on two memories, in the caller's transaction
    changes.apply_belief_updates                      what outcomes and the night change
    late_judgements                                   late judgements, rechecks and missing vectors
"""
