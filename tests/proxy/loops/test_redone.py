from tests.proxy.loops.histories import did, items, said, task

from festinger.proxy.loops.redone import redone

LOOK = did("look", {"at": 1}, "nothing")
LONG = " ".join(f"word{n}" for n in range(40))


def test_new_work_is_not_redone():
    assert redone(items(task(LOOK, did("look", {"at": 2}, "nothing")))) == 0


def test_a_call_made_again_counts_even_much_later_and_with_another_result():
    later = did("look", {"at": 1}, "something")

    assert redone(items(task(LOOK, did("ask", {}, "no"), did("sum", {}, "3"), later))) == 1


def test_an_answer_counts_as_much_as_it_shares():
    half = " ".join([*LONG.split()[:20], *(f"other{n}" for n in range(20))])

    assert redone(items(task([said(LONG), said(LONG)]))) == 1
    assert 0.2 < redone(items(task([said(LONG), said(half)]))) < 0.5
