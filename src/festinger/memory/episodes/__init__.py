"""Stretches of conversation: what was said in them, what they were about, and what they teach.

Keeps episodes with their turns. Decides when one ends, what its summary is where no model writes one, and which of
its sentences are worth learning. Left to others: learning itself (`learn`, the one way in), what a proposal makes of
an episode (`proposals`), finding turns again (`retrieval`).

What other rooms call, each taking a `desk.Desk`:

    keeping.open_episode / append / close / update_episode / close_stale
    listing.find / turns_of / page / links_of
    capturing.keep_exchange(desk, transaction, event)     a subscriber of `exchange_captured`
    summing.summarise(desk, space, id)                    by the model or the words, whichever comes first
    lessons.teach(desk, space, id)                        what it teaches, learnt once
"""
