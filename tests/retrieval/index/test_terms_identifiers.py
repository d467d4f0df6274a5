"""Numbers, paths and addresses are found whole and by their pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.deps import rows
from tests.retrieval.recalling import Recaller

from festinger.ids import MAIN_SPACE
from festinger.memory.edit import edit
from festinger.observability.checks import CheckSeverity
from festinger.retrieval.index.terms import identifier_parts, recount_words
from festinger.retrieval.maintenance import check_word_counts

IDENTIFIERS = (
    "T-1047", "foo_bar.py", "10.0.0.4", "ada@lovelace.example", "INV-2025-0031", "src/engine/gear.c", "v2.18.3",
    "E4711", "KX99-AB", "order#58812", "RFC-9562", "a1b2c3d4", "node-17.rack-3", "user_id", "C:/temp/log.txt",
    "PRJ_042", "module::unit", "A-113", "port:8443", "libfoo-1.2",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ticket T-1047 is open.", {"1047"}),
        ("See foo_bar.py there.", {"foo", "bar", "py"}),
        ("Host 10.0.0.4 is up.", {"10"}),
        ("Write to ada@lovelace.example now.", {"ada", "lovelace", "example"}),
        ("Part KX99 broke.", {"kx", "99"}),
        ("Nothing to see, 47 times.", set()),
    ],
    ids=["number", "file", "address", "mail", "code", "none"],
)
def test_an_identifier_falls_into_its_pieces(text: str, found: set[str]):
    assert set(identifier_parts(text)) == found


@given(st.text(max_size=300))
def test_whatever_is_written_pieces_are_small_words(text: str):
    assert all(piece.isalnum() and piece == piece.lower() for piece in identifier_parts(text))


PLAIN = """
insert into memory (space_id, id, agent_id, content, fold, gist, origin, trust, created_at, updated_at)
select m.space_id, md5(n::text)::uuid, m.agent_id,
    format('The note about part %%s of order %%s lies in drawer %%s.', n %% 1200, n, n %% 70),
    decode(md5(n::text), 'hex'), decode(md5(n::text), 'hex'), m.origin, m.trust, m.created_at, m.updated_at
from generate_series(1, %(count)s) as n, (select * from memory order by seq desc limit 1) as m
returning 1
"""


async def test_each_of_twenty_among_ten_thousand_is_the_first_hit_of_its_own_cue(by_words: Recaller):
    await by_words.put(*(f"The note about {each} lies in the drawer." for each in IDENTIFIERS))
    await rows(by_words.store, PLAIN, count=10_000 - len(IDENTIFIERS))
    await recount_words(by_words.searching, MAIN_SPACE)

    first = {each: (await by_words.texts(each))[0] for each in IDENTIFIERS}

    assert first == {each: f"The note about {each} lies in the drawer." for each in IDENTIFIERS}


async def test_half_of_an_identifier_finds_it_while_it_stands_there(by_words: Recaller):
    [ticket] = await by_words.put("Ticket T-1047 waits for parts.")
    await by_words.put("Bob repairs bicycles.")
    await by_words.say("Look into harbour_crane.log please.", session="talk")
    await by_words.settle()

    assert await by_words.texts("1047") == ["Ticket T-1047 waits for parts."]
    assert await by_words.texts("crane") == ["Look into harbour_crane.log please."]

    await edit(by_words.deps, MAIN_SPACE, ticket, "Ticket T-2200 waits for parts.", by="test")
    await by_words.settle()
    assert await by_words.texts("1047") == []
    assert await by_words.texts("2200") == ["Ticket T-2200 waits for parts."]


@pytest.mark.requirement("R-21")
async def test_counts_that_are_wrong_are_found_and_counting_anew_mends_them(by_words: Recaller):
    await by_words.put("Green tea.", "Green lamp.")
    await by_words.say("A green boat.")
    await by_words.settle()
    right = await check_word_counts(by_words.searching, [MAIN_SPACE])
    async with by_words.store.transaction() as transaction:
        await transaction.connection.execute("update words_term set df = df + 1 where term = 'green'")

    wrong = await check_word_counts(by_words.searching, [MAIN_SPACE])
    await recount_words(by_words.searching, MAIN_SPACE)

    assert right.severity is CheckSeverity.OK
    assert wrong.severity is CheckSeverity.WARN
    assert wrong.details["wrong"] == 2
    assert (await check_word_counts(by_words.searching, [MAIN_SPACE])).severity is CheckSeverity.OK
    counted = await rows(by_words.store, "select source, df from words_term where term = 'green' order by source")
    assert [(row["source"], row["df"]) for row in counted] == [("memory", 2), ("turn", 1)]
