-- Episodes: stretches of conversation with what was said in them and what came of them. Censors: rules that warn of
-- or stop what must not be said, with each time that one struck and each change of one.

create table episode (
    space_id      text not null references space (id) on delete cascade,
    id            uuid not null,
    seq           bigint generated always as identity,
    agent_id      text not null,
    session_id    text not null,
    title         text,
    summary       text,
    outcome       text check (outcome in ('resolved', 'partial', 'unresolved', 'informational', 'ongoing')),
    topics        text[] not null default '{}',
    state         text not null default 'open' check (state in ('open', 'closed', 'summarised')),
    opened_at     timestamptz not null,
    last_at       timestamptz not null,
    closed_at     timestamptz,
    closed_by     text check (closed_by in ('caller', 'idle', 'turns', 'hours', 'shutdown')),
    summarised_at timestamptz,
    summarised_by text,
    skipped       text,
    prompt_hash   text,
    lessons       jsonb not null default '[]',
    facts_at      timestamptz,
    memory_id     uuid,
    continues     uuid,
    turns         integer not null default 0 check (turns >= 0),
    raw_cut_at    timestamptz,
    evaluation    boolean not null default false,
    version       integer not null default 1 check (version >= 1),
    primary key (space_id, id),
    foreign key (space_id, continues) references episode (space_id, id),
    check ((state = 'open') = (closed_at is null)),
    check (state <> 'summarised' or (title is not null and summary is not null and summarised_at is not null))
);
comment on table episode is 'a stretch of a session: what it was about, and what came of it';
comment on column episode.seq is 'rises in the order in which episodes were opened';
comment on column episode.summarised_by is 'caller, transcript, extract, or the model that wrote the summary';
comment on column episode.skipped is 'why nothing was summarised and nothing learnt';
comment on column episode.lessons is 'what is to be learnt from it, as it was read, before each is learnt';
comment on column episode.facts_at is 'when all of it had been learnt';
comment on column episode.turns is 'turns that were said in it, cut ones included';
comment on column episode.raw_cut_at is 'when the words of its turns were cut, because they had been kept long enough';
comment on column episode.evaluation is 'whether it is a trial that teaches nothing';
comment on column episode.version is 'rises with each change of what is said about it';
create unique index episode_open on episode (space_id, agent_id, session_id) where state = 'open';
create index episode_session on episode (space_id, session_id, opened_at);
create index episode_order on episode (space_id, seq);
create index episode_idle on episode (space_id, last_at) where state = 'open';
create index episode_unfinished on episode (space_id, closed_at) where state <> 'open' and facts_at is null;
create index episode_continued on episode (space_id, continues) where continues is not null;

create table episode_turn (
    space_id   text not null,
    episode_id uuid not null,
    seq        integer not null check (seq >= 1),
    turn_id    uuid not null,
    at         timestamptz not null,
    role       text not null check (role in ('system', 'user', 'assistant', 'tool', 'thought')),
    origin     text not null check (origin in ('person', 'system', 'model', 'tool', 'document', 'job')),
    content    text not null,
    surfaced   uuid[] not null default '{}',
    primary key (space_id, episode_id, seq),
    foreign key (space_id, episode_id) references episode (space_id, id) on delete cascade
);
comment on table episode_turn is 'what was said, without secrets and without our own notes';
comment on column episode_turn.seq is 'place within the episode';
comment on column episode_turn.surfaced is 'memories that were brought to mind with it';
create unique index episode_turn_once on episode_turn (space_id, turn_id);
create index episode_turn_at on episode_turn (space_id, at);

create table episode_link (
    space_id   text not null,
    episode_id uuid not null,
    target     text not null check (target in ('memory', 'change', 'conflict', 'verdict')),
    target_id  uuid not null,
    relation   text not null check (relation in ('learnt', 'decided', 'superseded')),
    at         timestamptz not null,
    primary key (space_id, episode_id, target, target_id, relation),
    foreign key (space_id, episode_id) references episode (space_id, id) on delete cascade
);
comment on table episode_link is 'what was learnt, decided and replaced in an episode';
create index episode_link_target on episode_link (space_id, target_id);

create table censor (
    space_id             text not null references space (id) on delete cascade,
    id                   uuid not null,
    seq                  bigint generated always as identity,
    agent_id             text,
    reason               text not null default '',
    pattern              text,
    meaning              text,
    domain               text,
    applies_to           text[] not null,
    action               text not null default 'warn' check (action in ('warn', 'block')),
    origin               text not null check (origin in ('person', 'system', 'model', 'tool', 'document', 'job')),
    activation_count     integer not null default 0 check (activation_count >= 0),
    false_positive_count integer not null default 0 check (false_positive_count >= 0),
    escalation_threshold integer not null default 5 check (escalation_threshold >= 1),
    last_triggered       timestamptz,
    active               boolean not null default true,
    created_at           timestamptz not null,
    version              integer not null default 1 check (version >= 1),
    primary key (space_id, id),
    check (pattern is not null or meaning is not null),
    check (applies_to <@ array['input', 'output', 'tool', 'learn'] and cardinality(applies_to) > 0)
);
comment on table censor is 'a rule about what must not be said';
comment on column censor.seq is 'rises in the order in which censors were made';
comment on column censor.agent_id is 'whom it guards; null: everybody in the space';
comment on column censor.activation_count is 'times that it struck';
comment on column censor.false_positive_count is 'times that it struck and should not have';
comment on column censor.escalation_threshold is 'strikes from which a warning should become a stop';
comment on column censor.version is 'rises with each change';
create index censor_order on censor (space_id, seq);

create table censor_vector (
    space_id  text not null,
    censor_id uuid not null,
    model     text not null,
    dims      integer not null check (dims > 0),
    text_hash bytea not null,
    embedding halfvec not null,
    at        timestamptz not null,
    primary key (space_id, censor_id, model),
    foreign key (space_id, censor_id) references censor (space_id, id) on delete cascade
);
comment on table censor_vector is 'what censors mean, as vectors; so few that each process holds them in memory';
comment on column censor_vector.model is 'who made it; vectors of different models are never compared';
comment on column censor_vector.dims is 'numbers in the vector';
comment on column censor_vector.text_hash is 'of the meaning that was embedded';

create table censor_trigger (
    space_id       text not null,
    id             uuid not null,
    seq            bigint generated always as identity,
    censor_id      uuid not null,
    agent_id       text not null,
    session_id     text not null default '',
    day            date not null,
    origin         text not null check (origin in ('person', 'system', 'model', 'tool', 'document', 'job')),
    place          text not null check (place in ('input', 'output', 'tool', 'learn')),
    matched_by     text not null check (matched_by in ('pattern', 'meaning')),
    similarity     double precision,
    excerpt        text not null check (length(excerpt) <= 200),
    was_blocked    boolean not null,
    false_positive boolean not null default false,
    at             timestamptz not null,
    primary key (space_id, id),
    foreign key (space_id, censor_id) references censor (space_id, id) on delete cascade
);
comment on table censor_trigger is 'each time that a censor struck';
comment on column censor_trigger.seq is 'rises in the order in which censors struck';
comment on column censor_trigger.similarity is 'cosine between the text and the meaning';
create index censor_trigger_censor on censor_trigger (space_id, censor_id, seq);

create table censor_change (
    space_id  text not null,
    id        uuid not null,
    censor_id uuid not null,
    op        text not null check (op in ('add', 'update', 'escalate', 'demote', 'deactivate', 'activate')),
    before    jsonb not null,
    after     jsonb not null,
    reason    text not null default '',
    by        text not null,
    at        timestamptz not null,
    undone_at timestamptz,
    undone_by text,
    primary key (space_id, id),
    foreign key (space_id, censor_id) references censor (space_id, id) on delete cascade
);
comment on table censor_change is 'what was done to censors, with what was there before, so that it can be undone';
create index censor_change_censor on censor_change (space_id, censor_id, at);

create index refusal_session on refusal (space_id, session_id, at);
