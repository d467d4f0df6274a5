"""A session that became rows puts the same bytes in the same places."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.ids import SessionId, SpaceId
from festinger.proxy.sessions.session import (
    ProxyCaller,
    ProxySession,
    SessionReply,
    from_stored_session,
    merge_sessions,
    to_stored_session,
)
from festinger.services.block import ContextBlock, ContextLine, NoteRef, build_world_line
from festinger.store.repositories.exchanges import StoredNoteBlock

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
CALLER = ProxyCaller(space=SpaceId("main"), name="local/default")
RECOLLECTION = str(UUID(int=7))

hashes = st.binary(min_size=16, max_size=16)
notes = st.builds(NoteRef, kind=st.just("edge"), id=st.text(max_size=9), version=st.integers(0, 9))
lines = st.builds(build_world_line, st.text(min_size=1, max_size=20), st.lists(notes, max_size=2)).filter(
    lambda line: bool(line.text)
)
blocks = st.builds(
    ContextBlock, label=st.sampled_from(["", "Notes."]), lines=st.lists(lines, min_size=1, max_size=3).map(tuple)
)


def session(**more: object) -> ProxySession:
    return ProxySession(caller=CALLER, id=SessionId("s"), at=MONDAY, **more)  # type: ignore[arg-type]


@pytest.mark.requirement("P-25")
@given(blocks, hashes)
def test_a_block_comes_back_byte_for_byte_with_its_notes(block: ContextBlock, anchor: bytes):
    kept = to_stored_session(session(blocks={anchor: block}), fresh=block, anchor=anchor, recollection=RECOLLECTION)

    back = from_stored_session(kept, CALLER)

    assert back.blocks == {anchor: block}
    assert back.blocks[anchor].text == block.text


@pytest.mark.requirement("P-25")
@given(blocks)
def test_the_block_of_the_system_text_comes_back_there(block: ContextBlock):
    kept = to_stored_session(session(system_block=block), fresh=block, anchor=None, recollection=RECOLLECTION)

    assert from_stored_session(kept, CALLER).system_block == block


@pytest.mark.requirement("P-25")
@given(st.lists(hashes, max_size=5), st.frozensets(hashes, max_size=5), st.none() | hashes)
def test_a_history_is_known_again_by_its_hashes(links: list[bytes], recent: frozenset[bytes], head: bytes | None):
    before = session(links=tuple(links), recent=recent, head=head, parent=SessionId("p"))

    assert from_stored_session(to_stored_session(before), CALLER) == before


def test_no_word_of_a_reply_is_kept_but_it_is_known_again():
    reply = SessionReply(text="Rumpelstiltskin", content=b"r" * 16, at=MONDAY)
    kept = to_stored_session(session(replies=(reply,)))

    assert "Rumpel" not in repr(kept)
    assert reply.content in from_stored_session(kept, CALLER).recent


def test_blocks_that_were_rewritten_are_kept_as_a_whole():
    one = ContextBlock(label="", lines=(ContextLine(text="one"),))
    kept = to_stored_session(session(blocks={b"a" * 16: one}, system_block=one), rewritten=True)

    assert kept.rewritten
    assert [block.anchor for block in kept.blocks] == [b"a" * 16, b""]


@pytest.mark.requirement("P-25")
def test_what_two_processes_know_of_a_session_is_put_together():
    one, two = (
        ContextBlock(label="", lines=(ContextLine(text="one"),)),
        ContextBlock(label="", lines=(ContextLine(text="two"),)),
    )
    reply = SessionReply(text="Yes.", content=b"r" * 16, at=MONDAY)
    known = session(links=(b"1" * 16,), blocks={b"a" * 16: one}, replies=(reply,))
    later = ProxySession(
        caller=CALLER,
        id=SessionId("s"),
        at=MONDAY + timedelta(seconds=1),
        links=(b"1" * 16, b"2" * 16),
        blocks={b"b" * 16: two},
    )

    both = merge_sessions(known, later)

    assert both.links == later.links
    assert both.blocks == {b"a" * 16: one, b"b" * 16: two}
    assert both.replies == (reply,)
    assert merge_sessions(later, known).links == later.links


def test_a_longer_name_of_a_client_comes_back_as_it_calls_itself():
    name = SessionId("x" * 250)
    kept = to_stored_session(ProxySession(caller=CALLER, id=name, at=MONDAY))

    assert len(kept.session) <= 128
    assert from_stored_session(kept, CALLER, name=name).id == name


def test_stored_blocks_name_their_recollection():
    block = ContextBlock(label="", lines=(ContextLine(text="one"),))
    [kept] = to_stored_session(session(), fresh=block, anchor=b"a" * 16, recollection=RECOLLECTION).blocks

    assert kept == StoredNoteBlock(
        anchor=b"a" * 16, id=UUID(RECOLLECTION), text="<recollection>\none\n</recollection>", notes=[[]]
    )
