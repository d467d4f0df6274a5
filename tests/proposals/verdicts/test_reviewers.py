"""Whose verdict counts?"""

import pytest
from tests.proposals.hearing import ADA, Court

from festinger.errors import BadInput, NotAuthorised, NotFound
from festinger.ids import MAIN_SPACE, SpaceId
from festinger.proposals.model import Author, IdentityProof
from festinger.proposals.verdicts.reviewers import add_reviewer, deactivate_reviewer, list_reviewers, require_reviewer
from festinger.store.pool import Store


async def test_whoever_a_channel_has_proved_becomes_a_reviewer_once(store: Store):
    court = Court(store)

    for _ in range(2):
        await require_reviewer(court.deps, MAIN_SPACE, ADA)

    (found,) = await list_reviewers(court.deps, MAIN_SPACE)
    assert (found.name, found.identities, found.active) == ("Ada", {"login": ["ada"]}, True)


async def test_a_person_of_one_name_is_known_by_login_and_key(store: Store):
    court = Court(store)
    await require_reviewer(court.deps, MAIN_SPACE, ADA)

    await require_reviewer(court.deps, MAIN_SPACE, Author(name="Ada", proof=IdentityProof.KEY, id="k1"))

    (found,) = await list_reviewers(court.deps, MAIN_SPACE)
    assert found.identities == {"login": ["ada"], "key": ["k1"]}


async def test_another_key_of_the_same_name_is_another_reviewer(store: Store):
    court = Court(store)
    keys = [Author(name="laptop", proof=IdentityProof.KEY, id=each) for each in ("k1", "k2", "k1")]

    names = [(await require_reviewer(court.deps, MAIN_SPACE, key)).name for key in keys]

    assert names[0] == names[2] == "laptop"
    assert names[1].startswith("laptop ")


@pytest.mark.parametrize("proof", [IdentityProof.NONE, IdentityProof.WEBHOOK, IdentityProof.NAMED], ids=str)
async def test_a_mere_name_makes_nobody_a_reviewer(store: Store, proof: IdentityProof):
    court = Court(store)

    with pytest.raises(NotAuthorised):
        await require_reviewer(court.deps, MAIN_SPACE, Author(name="Ada", proof=proof))

    assert await list_reviewers(court.deps, MAIN_SPACE) == []


async def test_a_signed_name_counts_for_a_reviewer_who_is_there_and_not_in_another_space(store: Store):
    court = Court(store)
    await add_reviewer(court.deps, MAIN_SPACE, "Ada", webhook=["ada@chat"])
    signed = [Author(name=name, proof=IdentityProof.WEBHOOK) for name in ("Ada", "ada@chat")]

    assert [(await require_reviewer(court.deps, MAIN_SPACE, each)).name for each in signed] == ["Ada", "Ada"]
    with pytest.raises(NotAuthorised):
        await require_reviewer(court.deps, SpaceId("other"), signed[0])


async def test_the_verdict_of_somebody_who_was_sent_away_no_longer_counts(store: Store):
    court = Court(store)
    proposal = await court.promoted()
    await require_reviewer(court.deps, MAIN_SPACE, ADA)
    await deactivate_reviewer(court.deps, MAIN_SPACE, "Ada")

    with pytest.raises(NotAuthorised):
        await court.decide(proposal)
    await add_reviewer(court.deps, MAIN_SPACE, "Ada")

    assert (await court.decide(proposal)).result == "applied"


async def test_a_reviewer_has_a_name_and_is_known_by_what_channels_prove(store: Store):
    court = Court(store)

    with pytest.raises(BadInput):
        await add_reviewer(court.deps, MAIN_SPACE, "  ")
    with pytest.raises(BadInput, match="`badge`"):
        await add_reviewer(court.deps, MAIN_SPACE, "Ada", badge=["7"])
    with pytest.raises(NotFound):
        await deactivate_reviewer(court.deps, MAIN_SPACE, "Ada")
