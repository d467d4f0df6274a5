"""Rules about what must not be said, and each time that one struck.

Keeps censors with their strikes and changes. Decides which of them a text sets off, and when a warning that strikes
often should become a stop. Left to others: what a stop does to a request or an answer (`proxy`, `agent`), and asking a
person (`proposals`).

What other rooms call, each taking a `desk.Desk` or a `watch.Watch`:

    making.add(watch, place, rule) -> Censor              a new one, with what it would have hit
    changing.update / escalate / demote / deactivate / activate / undo
    checking.check(watch, place, text, on=) -> Checked    with its effects;  checking.search without
    misfires.false_positive(desk, space, trigger)         a strike that was wrong
    escalation.escalate_censor(desk, transaction, event)  a subscriber of `censor_triggered`
"""
