"""What is left of a forgotten word in what happened?"""

from tests.events.wiring import Wired
from tests.jobs.deps import rows

from festinger.events.outbox import MARK, scrub_event_words
from festinger.ids import MAIN_SPACE, SpaceId
from festinger.store.pool import Store


async def tell(wired: Wired, token: str) -> None:
    async with wired.store.transaction() as transaction:
        await wired.outbox.emit(
            transaction,
            "concept_confirmed",
            space=MAIN_SPACE,
            subject=f"concept:{token}",
            payload={"concept_id": 7, "token": token, "by": token},
        )


async def test_a_forgotten_word_gives_way_to_a_mark_only_where_words_of_people_stand(store: Store):
    wired = Wired(store)
    for token in ("gnommoweb", "dobby"):
        await tell(wired, token)

    async with store.transaction() as transaction:
        elsewhere = await scrub_event_words(transaction, SpaceId("work"), {"gnommoweb"})
        nothing = await scrub_event_words(transaction, MAIN_SPACE, set())
        scrubbed = await scrub_event_words(transaction, MAIN_SPACE, {"gnommoweb"})

    assert (elsewhere, nothing, scrubbed) == (0, 0, 1)
    told = [row["payload"] for row in await rows(store, "select payload from event order by seq")]
    assert told == [
        {"concept_id": 7, "token": MARK, "by": "gnommoweb"},
        {"concept_id": 7, "token": "dobby", "by": "dobby"},
    ]
