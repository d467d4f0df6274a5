"""Judges whether two statements say the same, update, contradict or refine each other.

A cascade decides: rules that are pure and take microseconds, then a small local pair model, then an LLM, each
if present. What none of them is sure of waits and is retried. Every judgement is stored (table `judgement`);
acting on one is up to others: `memory` merges, supersedes and holds, `world` queues conflicts, `proposals`
suggests.

`rules.judge` is the pure entry point, `cascade.Cascade` the one that asks models and stores the answers.
"""
