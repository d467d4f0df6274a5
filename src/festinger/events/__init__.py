"""Transactional outbox: records what happened and delivers it to subscribers.

Holds the outbox, the catalog of event names and schemas, and the delivery state of each subscriber. Events
are written in the transaction of the change; delivery is at least once, in order per subject, and handled
once. This package runs nothing: deliveries are jobs, handed to `jobs` when the app is wired.
"""
