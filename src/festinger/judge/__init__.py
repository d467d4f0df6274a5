"""Do two statements say the same, update, contradict or refine each other?

Will keep judgements and the cascade that makes them: rules, then a small model, then an LLM. Not built yet.
"""
