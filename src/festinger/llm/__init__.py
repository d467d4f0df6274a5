"""Asking a language model, safely and with the bill.

Keeps the `Model` port, the providers behind it, the guards (time-outs, parallel calls, breaker, budgets) and
the value of one priced call. It knows nothing of facts: prompts and shapes belong to the rooms that ask.
"""
