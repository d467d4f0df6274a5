"""Whatever is on its way to the store reads back from the spool as it was."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import BadInput
from festinger.events.catalogue import NewEvent
from festinger.ids import AgentId, Origin, SessionId, SpaceId, TraceId
from festinger.proxy.capture.exchange import Capture, InjectedBlock
from festinger.proxy.capture.write import (
    Entry,
    RequestLogEntry,
    SessionEntry,
    StandaloneEventsEntry,
    decode_entry,
    encode_entry,
)
from festinger.retrieval.log import RecallRecord
from festinger.store.repositories.exchanges import ExchangeMessage, StoredExchange, StoredNoteBlock, StoredSession
from festinger.store.repositories.request_log import LoggedRequest

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
SPACE = SpaceId("main")

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ids = st.uuids()
hashes = st.binary(max_size=32)
times = st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC))
names = text.map(SessionId)
happenings = st.builds(NewEvent, name=text, subject=text, payload=st.dictionaries(text, st.integers(0, 9), max_size=2))
words = st.builds(ExchangeMessage, id=ids, role=text, origin=st.sampled_from(Origin), text=text)
exchanges = st.builds(
    StoredExchange,
    id=ids,
    session=names,
    agent=text.map(AgentId),
    request=text,
    at=times,
    said=st.lists(words, max_size=3).map(tuple),
    reply=st.none() | words,
    tool_calls=st.lists(st.fixed_dictionaries({"name": text, "arguments": text}), max_size=2),
    thinking=st.none() | text,
    ended=text,
    model=text,
    tokens_read=st.none() | st.integers(0, 9),
    tokens_written=st.none() | st.integers(0, 9),
    recollection=st.none() | ids,
)
injected = st.builds(
    InjectedBlock,
    recollection=ids,
    position=text,
    anchor=st.none() | text,
    notes=st.just([{"kind": "edge", "id": "x", "version": 1}]),
    tokens=st.integers(0, 9),
)
captures = st.builds(
    Capture,
    space=st.just(SPACE),
    exchange=exchanges,
    how=text,
    parent=st.none() | names,
    injected=st.none() | injected,
    happenings=st.lists(happenings, max_size=2).map(tuple),
)
blocks = st.builds(StoredNoteBlock, anchor=hashes, id=ids, text=text, notes=st.just([[["edge", "x", 1]]]))
sessions = st.builds(
    StoredSession,
    caller=text,
    session=names,
    head=st.none() | hashes,
    links=hashes,
    recent=hashes,
    parent=st.none() | names,
    at=times,
    blocks=st.lists(blocks, max_size=2).map(tuple),
    rewritten=st.booleans(),
)
requests = st.builds(
    LoggedRequest,
    id=text,
    at=times,
    agent=text.map(AgentId),
    session=st.none() | names,
    route=text,
    model=text,
    status=st.none() | st.integers(100, 599),
    memory=text,
    reason=text,
    ended=st.none() | text,
    before_ms=st.floats(0, 9),
    after_ms=st.floats(0, 9),
    details=st.dictionaries(text, text, max_size=2),
)
recalls = st.builds(
    RecallRecord,
    space=st.just(SPACE),
    agent=text.map(AgentId),
    session=names,
    id=ids,
    at=times,
    trace=st.none() | text.map(TraceId),
    row=st.fixed_dictionaries({"cue": text, "hits": st.just([{"why": {"terms": ["tea"]}}])}),
    read=st.lists(ids, max_size=2).map(tuple),
    searched_for=st.lists(ids, max_size=2).map(tuple),
    shows=st.booleans(),
)
entries = st.one_of(
    recalls,
    captures,
    st.builds(SessionEntry, space=st.just(SPACE), session=sessions),
    st.builds(RequestLogEntry, space=st.just(SPACE), request=requests),
    st.builds(StandaloneEventsEntry, space=st.just(SPACE), happenings=st.lists(happenings, max_size=2).map(tuple)),
)


@pytest.mark.requirement("P-47")
@given(entries)
def test_an_entry_reads_back_as_it_was_from_one_line(entry: Entry):
    record = encode_entry(entry)

    assert b"\n" not in record
    assert decode_entry(record) == entry


@given(st.binary(max_size=40) | st.sampled_from([b"{}", b'{"kind":"exchange","entry":{}}', b"[]", b"null"]))
def test_what_is_no_entry_is_said_to_be_none(record: bytes):
    with pytest.raises(BadInput):
        decode_entry(record)


def test_an_entry_of_a_later_version_is_refused_and_not_half_read():
    line = LoggedRequest(
        id="r", at=MONDAY, agent=AgentId("a"), session=None, route="/", model="", status=None,
        memory="", reason="", ended=None, before_ms=0, after_ms=0,
    )  # fmt: skip
    record = encode_entry(RequestLogEntry(space=SPACE, request=line)).replace(b'"route"', b'"rout3"')

    with pytest.raises(BadInput):
        decode_entry(record)
