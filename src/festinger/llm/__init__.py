"""Asks language models, with guards and cost accounting.

Holds the `Model` port, its providers, the guards (timeouts, parallel calls, breaker, budgets) and the ledger.
It knows nothing of facts: prompts and answer shapes belong to the packages that ask.
"""
