"""Collects suggested changes and decides when to put them before a person.

Stores proposals with their sightings, gate runs and verdicts; decides when two wordings are one proposal, how
many causes back it and whether it is ripe. It never changes behavior by itself: an effect in another package
runs only after a verified person approves. Loops are found by `proxy`, contradictions by `judge` and `world`,
strikes by `memory`, outcomes by `outcomes`. Main entry points: `sightings.intake.submit_suggestion`,
`promotion.promote`, `verdicts.decide.decide`, `inbox.load_card` and `erase.forget`.
"""
