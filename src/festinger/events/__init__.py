"""What happened, told to whoever listens.

Keeps the outbox, the catalogue of event names and shapes, and who has been told what. Events are written in
the transaction that made the change; subscribers hear them at least once, in order per subject, and act once.
It does not run anything: delivery is durable work, handed to `jobs` at wiring.
"""
