"""What should a person be asked, and when?

Keeps suggested changes with their sightings, the runs of the gate, and what people decided. Decides when two wordings
are one proposal, how many causes stand behind it and whether it is ripe. It never changes behaviour by itself: a deed
of another room is called only after a verified person has said yes. Left to others: finding loops (`proxy`),
contradictions (`judge`, `world`), strikes (`memory`) and outcomes (`outcomes`), and showing all this (the doors).

What other rooms call, each taking a `desk.Desk`:

    sight.sight(desk, space, suggestion)       somebody says that something should change
    emitting.emit(desk, space, suggestion)     the same, at what stands already where that means the same
    promote.promote(desk, space)               one run of the gate
    shelf.page / shelf.card                    what is kept, listed and in full
    meaning.compare(desk, space)               the second pass: which ones may mean the same
    pairs.accept / decline / split             what a person says of two that were shown together
    rate.rate(desk, space)                     are the bars too loose, or too tight?
    decide.decide(office, space, said)         what every channel ends in; `decide_many`, `undo.undo`
    proposing.propose, rebuilding.rebuild      a person's own proposal; one made anew from what stands
    reviewers.verified, tasks.tasks            whose word counts, and what is to be done
    value.worths, releasing.lift               whether asking pays, and who is muted for it
    forgetting.forget                          within the transaction that forgets memories
    fingerprint.fingerprint, gate.read         the pure decisions
"""
