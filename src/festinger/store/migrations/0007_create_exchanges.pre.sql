-- What passed through the proxy: the exchanges with their words, the sessions and the notes that were put into
-- them, so that another process or the next one goes on where this one was, and the log of requests.

create table exchange (
    space_id        text not null references space (id) on delete cascade,
    id              uuid not null,
    session_id      text not null,
    agent_id        text not null,
    request_id      text not null,
    at              timestamptz not null,
    reply_id        uuid,
    tool_calls      jsonb not null,
    thinking        text,
    ended           text not null check (ended in ('whole', 'abrupt', 'error', 'client', 'cut')),
    model           text not null,
    tokens_read     bigint,
    tokens_written  bigint,
    recollection_id uuid,
    primary key (space_id, id)
);
comment on table exchange is 'a request and its answer, as far as it came, once each';
comment on column exchange.id is 'made of session, history and reply: the same exchange has the same id';
comment on column exchange.reply_id is 'the message that the model answered with; none if it only called tools';
comment on column exchange.tool_calls is 'name and arguments of each call, without secrets';
comment on column exchange.thinking is 'what the model thought, if that is to be kept';
comment on column exchange.tokens_read is 'tokens of the prompt, as the upstream counted';
comment on column exchange.tokens_written is 'tokens of the answer, as the upstream counted';
comment on column exchange.recollection_id is 'the block that was new in it';
create index exchange_session on exchange (space_id, session_id, at);

create table exchange_message (
    space_id    text not null,
    id          uuid not null,
    exchange_id uuid not null,
    session_id  text not null,
    seq         integer not null check (seq >= 0),
    role        text not null check (role in ('system', 'user', 'assistant', 'tool')),
    origin      text not null check (origin in ('person', 'system', 'model', 'tool', 'document', 'job')),
    text        text not null,
    at          timestamptz not null,
    primary key (space_id, id),
    foreign key (space_id, exchange_id) references exchange (space_id, id) on delete cascade
);
comment on table exchange_message is 'what was said, without secrets and without our notes; each once a session';
comment on column exchange_message.seq is 'place within what its exchange brought';
create index exchange_message_exchange on exchange_message (space_id, exchange_id, seq);

create table proxy_session (
    space_id   text not null references space (id) on delete cascade,
    caller     text not null,
    session_id text not null,
    head       bytea,
    links      bytea not null,
    recent     bytea not null,
    parent_id  text,
    at         timestamptz not null,
    primary key (space_id, caller, session_id)
);
comment on table proxy_session is 'how a session is known again: hashes of its history, no words';
comment on column proxy_session.caller is 'key and agent; sessions of different callers never meet';
comment on column proxy_session.head is 'hash of the history up to the first message of the user';
comment on column proxy_session.links is 'hash of the history up to each message, one after the other';
comment on column proxy_session.recent is 'hashes of what the model and its tools said lately';
create index proxy_session_head on proxy_session (space_id, caller, head, at);
create index proxy_session_age on proxy_session (at);

create table injection (
    space_id   text not null,
    session_id text not null,
    caller     text not null,
    anchor     bytea not null,
    id         uuid not null,
    block      text not null,
    notes      jsonb not null,
    at         timestamptz not null,
    primary key (space_id, caller, session_id, anchor),
    foreign key (space_id, caller, session_id) references proxy_session (space_id, caller, session_id)
        on delete cascade
);
comment on table injection is 'the notes that were put into a session, where and in which words';
comment on column injection.anchor is 'hash of the history up to the message that carries the block; empty for the system text';
comment on column injection.id is 'the recollection';
comment on column injection.notes is 'for each line of the block the notes that it shows: kind, id and version';

create table request_log (
    space_id   text not null references space (id) on delete cascade,
    id         text not null,
    at         timestamptz not null,
    agent_id   text not null,
    session_id text,
    route      text not null,
    model      text not null default '',
    status     integer,
    memory     text not null default '',
    reason     text not null default '',
    ended      text,
    before_ms  double precision not null default 0,
    after_ms   double precision not null default 0,
    details    jsonb not null default '{}',
    primary key (space_id, id)
);
comment on table request_log is 'what happened to each request on a route that memory serves';
comment on column request_log.id is 'as the answer''s header told it; the latest request of that id';
comment on column request_log.status is 'HTTP status that the client was sent; none if it left before';
comment on column request_log.memory is 'what memory did for it';
comment on column request_log.before_ms is 'milliseconds from its first byte until it was sent on';
comment on column request_log.after_ms is 'milliseconds from the upstream''s first byte until the client was written to';
comment on column request_log.details is 'session, notes, loop, tokens and, if so set, words';
create index request_log_at on request_log (space_id, at);
create index request_log_age on request_log (at);
