"""Defines censors, rules about what must not be said, and records when they trigger.

Decides which censors a text triggers and when a warning should become a block. What a block does to a request
or a reply is up to `proxy`; asking a person is up to `proposals`.

    edit.add_censor, update, escalate, demote, deactivate, activate, undo
    check.run_censors, check.preview_censors          with and without recording triggers
    escalation.mark_false_positive, escalate_censor   the latter subscribes to `censor_triggered`
"""
