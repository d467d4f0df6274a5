"""Do two statements say the same, update, contradict or refine each other?

Keeps every judgement (table `judgement`). Decides by a cascade: rules that are pure and take microseconds, then a
small local pair model if there is one, then an LLM if there is one; what none of them is sure of waits, marked, and
is tried again. What follows from a judgement is left to others: `memory` merges, supersedes and holds, `world` keeps
the queue of conflicts, `proposals` suggests.

`rules.judge` is the pure way in, `cascade.Cascade` the one that asks models and keeps what was said.
"""
