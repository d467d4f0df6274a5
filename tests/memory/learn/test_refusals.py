"""What was not learnt is there to be seen, and can be learnt after all."""

from datetime import timedelta

import pytest
from tests.jobs.deps import rows
from tests.memory.oblivion import places_of
from tests.memory.remembering import Mind, events, known, texts

from festinger.errors import NotFound, Refused
from festinger.ids import MAIN_SPACE, Origin
from festinger.memory.edit import edit
from festinger.memory.episodes.store import append_turn
from festinger.memory.learn.refusals import check_refusals, learn_anyway, load_page_of_refusals, prune_refusals
from festinger.memory.model import LearnAction
from festinger.store.pool import Store

REFUSED = [
    ("Hi there", "heartbeat"),
    ("Blue sock", "too_short"),
    ("Where does the ferry to the island leave from?", "question"),
]

SECRETS = {
    "openai key": "sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb3dEf6hIj9kLm2n",
    "github token": "ghp_Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb3d",
    "aws key": "AKIAQ3EGRSTUVWX5YZ27",
    "password": "password=Tr0ub4dor&3xY!zq",
    "private key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----",
    "card": "4539 1488 0343 6467",
    "connection": "postgres://admin:Zx9-qwErty77@db.example.org:5432/prod",
}
TELLING = {
    "openai key": "Ab3dEf6hIj9k",
    "github token": "ghp_Ab3dEf6h",
    "aws key": "AKIAQ3EGRSTU",
    "password": "Tr0ub4dor",
    "private key": "MIIEvQIBADANBg",
    "card": "0343 6467",
    "connection": "Zx9-qwErty77",
}


@pytest.mark.parametrize(("text", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
@pytest.mark.requirement("M-92")
async def test_a_refusal_is_in_the_result_a_row_and_an_event(store: Store, text: str, reason: str):
    mind = Mind(store)

    learned = await mind.learn(text, asked=False, origin="model")

    (kept,) = await load_page_of_refusals(mind.deps, MAIN_SPACE)
    (told,) = await events(store, "learn_refused")
    assert (learned.action, learned.reasons, learned.refusal) == (LearnAction.REFUSED, (reason,), kept.id)
    assert (kept.reason, kept.text, kept.origin) == (reason, text, Origin.MODEL)
    assert told["payload"] == {"refusal": str(kept.id), "reason": reason}
    assert await load_page_of_refusals(mind.deps, MAIN_SPACE, reason="secret") == []


@pytest.mark.requirement("M-91")
@pytest.mark.parametrize(("text", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
async def test_a_person_who_asks_is_not_refused(store: Store, text: str, reason: str):
    mind = Mind(store)

    assert (await mind.learn(text)).action is LearnAction.STORED


@pytest.mark.requirement("M-92")
async def test_a_person_has_a_refusal_learnt_after_all_and_once(store: Store):
    mind = Mind(store)
    refused = await mind.learn("Blue sock", asked=False, origin="model")
    assert refused.refusal is not None

    learned = await learn_anyway(mind.deps, MAIN_SPACE, refused.refusal, by="person:owner")

    (kept,) = await load_page_of_refusals(mind.deps, MAIN_SPACE)
    assert await texts(store) == ["Blue sock"]
    assert (await mind.memory(learned)).origin is Origin.PERSON
    assert kept.learnt_id == known(learned)
    with pytest.raises(Refused, match="already"):
        await learn_anyway(mind.deps, MAIN_SPACE, refused.refusal, by="person:owner")
    with pytest.raises(NotFound):
        await learn_anyway(mind.deps, MAIN_SPACE, known(learned), by="person:owner")


@pytest.mark.requirement("M-92")
async def test_refusals_are_kept_for_their_days(store: Store):
    mind = Mind(store, refusals_keep_days=30)
    await mind.learn("Blue sock", asked=False, origin="model")
    mind.forward(timedelta(days=29))
    assert await prune_refusals(mind.deps, MAIN_SPACE) == 0
    mind.forward(timedelta(days=2))

    assert await prune_refusals(mind.deps, MAIN_SPACE) == 1
    assert await load_page_of_refusals(mind.deps, MAIN_SPACE) == []


@pytest.mark.parametrize(("refused", "severity"), [(100, "ok"), (101, "warn")])
@pytest.mark.requirement("M-92")
async def test_doctor_warns_when_most_of_the_last_two_hundred_were_refused(store: Store, refused: int, severity: str):
    mind = Mind(store)
    for table, count in (("refusal", refused), ("sighting", 200 - refused)):
        for _ in range(count):
            mind.forward(timedelta(seconds=1))
            text = "Hi there" if table == "refusal" else "The mill grinds on Tuesdays"
            await mind.learn(text, asked=False, origin="model")

    check = await check_refusals(mind.deps, [MAIN_SPACE])

    assert check.severity.value == severity


@pytest.mark.parametrize("kind", SECRETS)
async def test_a_secret_is_found_nowhere(store: Store, kind: str):
    mind = Mind(store)

    kept = await mind.learn(f"For the deployment take {SECRETS[kind]} and nothing else", key="k")
    await mind.learn(f"ok {SECRETS[kind]}", asked=False, origin="model")
    alone = await mind.learn(SECRETS[kind])

    assert kept.redactions
    assert alone.redactions
    assert await places_of(store, TELLING[kind]) == []
    assert not any(TELLING[kind] in text for _, asked in mind.near.asked for text in asked)


DETAILS = {
    "mail": ("ann.b@mail.example.org", "ann.b@"),
    "phone": ("+49 30 5550182-11", "5550182"),
    "address": ("221B Baker Street, London NW1 6XE", "Baker"),
}


@pytest.mark.requirement("M-93")
@pytest.mark.parametrize("kind", DETAILS)
async def test_a_detail_of_a_person_is_found_nowhere_in_a_space_that_keeps_none(store: Store, kind: str):
    detail, telling = DETAILS[kind]
    mind = Mind(store, redact_personal=True)

    kept = await mind.learn(f"For the parcel take {detail} and nothing else", subject=detail, key="k")
    await mind.learn(f"ok {detail}", asked=False, origin="model")
    await edit(mind.deps, MAIN_SPACE, known(kept), f"For letters take {detail} as well", by="person:ann")
    await append_turn(mind.deps, mind.place(), "user", f"You find me under {detail} all week.")

    assert kept.redactions
    assert await places_of(store, telling) == []
    assert not any(telling in text for _, asked in mind.near.asked for text in asked)


async def test_a_detail_of_a_person_is_kept_where_nobody_asked_otherwise(store: Store):
    mind = Mind(store)

    kept = await mind.learn("Ann reads mail at ann.b@mail.example.org")

    assert (await mind.memory(kept)).content == "Ann reads mail at ann.b@mail.example.org"


async def test_every_secret_kind_is_marked_in_its_place(store: Store):
    mind = Mind(store)

    learned = await mind.learn(f"The database is {SECRETS['connection']} for now")

    (row,) = await rows(store, "select content from memory")
    assert "[redacted:" in row["content"]
    assert row["content"].startswith("The database is ")
    assert len(learned.redactions) == 1
