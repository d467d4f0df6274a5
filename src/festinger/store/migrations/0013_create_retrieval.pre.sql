-- Retrieval: what was said as it is searched, how common each word is, which memories came to mind together, what
-- helped with which question, how the mind weighs, and the record of every recall.

create table turn_index (
    space_id    text not null references space (id) on delete cascade,
    turn_id     uuid not null,
    part        integer not null check (part >= 0),
    episode_id  uuid not null,
    seq         integer not null,
    agent_id    text not null,
    session_id  text not null,
    at          timestamptz not null,
    role        text not null,
    origin      text not null check (origin in ('person', 'system', 'model', 'tool', 'document', 'job')),
    trust       real not null check (trust between 0 and 1),
    speaker     text,
    content     text not null,
    context     text not null default '',
    content_tsv tsvector,
    len         integer not null default 0 check (len >= 0),
    model       text,
    text_hash   bytea not null,
    embedding   halfvec,
    primary key (space_id, turn_id, part),
    check ((model is null) = (embedding is null)),
    check ((part = 0) = (content_tsv is not null))
);
comment on table turn_index is 'what was said, cut into parts that a model can read; the first part carries all words';
comment on column turn_index.seq is 'place of the turn within its episode';
comment on column turn_index.trust is 'from 0 to 1, of whoever said it';
comment on column turn_index.speaker is 'the name that the turn begins with, in small letters';
comment on column turn_index.context is 'the day, and what was said right before and after';
comment on column turn_index.content_tsv is 'words of the whole turn with weight A, those of its context with weight D';
comment on column turn_index.len is 'words of the whole turn, each as often as it stands there';
comment on column turn_index.model is 'who made the vector; vectors of different models are never compared';
comment on column turn_index.text_hash is 'of the text that was embedded';
create index turn_index_words on turn_index using gin (content_tsv) where part = 0;
create index turn_index_episode on turn_index (space_id, episode_id, seq);
create index turn_index_at on turn_index (space_id, agent_id, at) where part = 0;
create index turn_index_model on turn_index (space_id, model);

create table turn_progress (
    space_id   text not null references space (id) on delete cascade,
    episode_id uuid not null,
    turns      integer not null check (turns >= 0),
    primary key (space_id, episode_id)
);
comment on table turn_progress is 'how far the turns of an episode have been made searchable';
comment on column turn_progress.turns is 'place of the last turn that is searchable';

create table words_total (
    space_id  text not null references space (id) on delete cascade,
    source    text not null check (source in ('memory', 'turn')),
    docs      bigint not null default 0,
    total_len bigint not null default 0,
    primary key (space_id, source)
);
comment on table words_total is 'how many texts there are to search, and how long they are together';

create table words_term (
    space_id text not null references space (id) on delete cascade,
    source   text not null check (source in ('memory', 'turn')),
    term     text not null,
    df       bigint not null default 0,
    primary key (space_id, source, term)
);
comment on table words_term is 'in how many texts each word stands';

create table words_counted (
    space_id text not null references space (id) on delete cascade,
    source   text not null check (source in ('memory', 'turn')),
    ref      uuid not null,
    len      integer not null,
    terms    tsvector not null,
    primary key (space_id, source, ref)
);
comment on table words_counted is 'what of a text is in the counts now, so that it can be taken out again';

create table words_waiting (
    space_id text not null references space (id) on delete cascade,
    source   text not null check (source in ('memory', 'turn')),
    ref      uuid not null,
    at       timestamptz not null,
    primary key (space_id, source, ref)
);
comment on table words_waiting is 'texts that came, went or changed since the words were counted';

create table identifier_part (
    space_id text not null references space (id) on delete cascade,
    part     text not null,
    type     text not null check (type in ('memory', 'turn')),
    ref      uuid not null,
    primary key (space_id, part, type, ref)
);
comment on table identifier_part is 'pieces of numbers, paths and addresses that the index of words keeps whole';
create index identifier_part_ref on identifier_part (space_id, type, ref);

create table memory_co_access (
    space_id         text not null,
    memory_id_a      uuid not null,
    memory_id_b      uuid not null,
    co_access_count  integer not null default 0 check (co_access_count >= 0),
    temporal_count   integer not null default 0 check (temporal_count >= 0),
    last_co_accessed timestamptz not null,
    last_cause       text not null,
    primary key (space_id, memory_id_a, memory_id_b),
    foreign key (space_id, memory_id_a) references memory (space_id, id) on delete cascade,
    foreign key (space_id, memory_id_b) references memory (space_id, id) on delete cascade,
    check (memory_id_a < memory_id_b)
);
comment on table memory_co_access is 'memories that came to mind together';
comment on column memory_co_access.co_access_count is 'causes in which one recall gave both';
comment on column memory_co_access.temporal_count is 'causes in which one recall followed the other';
create index memory_co_access_back on memory_co_access (space_id, memory_id_b);

create table cue_outcome (
    space_id   text not null,
    id         uuid not null,
    agent_id   text not null,
    memory_id  uuid not null,
    model      text,
    cue_hash   bytea not null,
    cue_vector halfvec,
    cause      text not null,
    reward     double precision not null check (reward between -1 and 1),
    weight     double precision not null check (weight >= 0),
    at         timestamptz not null,
    primary key (space_id, id),
    foreign key (space_id, memory_id) references memory (space_id, id) on delete cascade,
    unique (space_id, memory_id, cue_hash, cause)
);
comment on table cue_outcome is 'what became of a memory that was brought to mind for a question';
comment on column cue_outcome.reward is 'from -1 for what misled to 1 for what was acted on';
create index cue_outcome_memory on cue_outcome (space_id, memory_id, at);

create table blend (
    space_id text not null references space (id) on delete cascade,
    agent_id text not null,
    shifts   double precision[] not null default '{0,0,0,0,0}' check (cardinality(shifts) = 5),
    version  integer not null default 1 check (version >= 1),
    primary key (space_id, agent_id)
);
comment on table blend is 'how far outcomes have moved the weights by which the mind of an agent blends';
comment on column blend.shifts is 'of meaning, company, chance, feeling and freshness';

create table blend_history (
    space_id  text not null references space (id) on delete cascade,
    id        uuid not null,
    agent_id  text not null,
    before    double precision[] not null,
    after     double precision[] not null,
    outcomes  integer not null check (outcomes >= 0),
    at        timestamptz not null,
    undone_at timestamptz,
    primary key (space_id, id)
);
comment on table blend_history is 'each time that outcomes moved a blend';
create index blend_history_agent on blend_history (space_id, agent_id, at);

create table recall (
    space_id      text not null references space (id) on delete cascade,
    id            uuid not null,
    at            timestamptz not null,
    agent_id      text not null,
    session_id    text not null default '',
    turn_id       uuid,
    door          text not null default '',
    cue           text not null,
    cue_hash      bytea not null,
    filters       jsonb not null default '{}',
    blend         text not null default 'steady' check (blend in ('steady', 'mind')),
    seed          bigint not null default 0,
    settings_hash text not null,
    embedder      text not null default '',
    as_of         timestamptz,
    abstained     boolean not null,
    below         integer not null check (below >= 0),
    degraded      text[] not null default '{}',
    took_ms       double precision not null,
    primary key (space_id, id)
);
comment on table recall is 'what was asked of the memory, without secrets, and how it went';
comment on column recall.below is 'what was found and not good enough';
create index recall_at on recall (space_id, at);
create index recall_session on recall (space_id, session_id, at);

create table recall_hit (
    space_id        text not null,
    recall_id       uuid not null,
    position        integer not null check (position >= 1),
    type            text not null check (type in ('memory', 'turn')),
    ref             uuid not null,
    score           double precision not null,
    evidence        double precision not null,
    why             jsonb not null,
    shown           boolean not null,
    dropped_because text,
    primary key (space_id, recall_id, position),
    foreign key (space_id, recall_id) references recall (space_id, id) on delete cascade
);
comment on table recall_hit is 'what a recall gave, and the next ten that it did not';
create index recall_hit_ref on recall_hit (space_id, ref);

create index memory_happened on memory (space_id, (coalesce(event_time, created_at)));

comment on column turn_index.part is 'place of the part within its turn, from 0';
comment on column words_total.docs is 'texts that are counted';
comment on column words_total.total_len is 'words of all of them';
comment on column words_term.df is 'texts that hold the word';
comment on column words_counted.len is 'words of the text';
comment on column cue_outcome.weight is 'what the outcome weighs';
comment on column blend.version is 'rises with each change';
comment on column blend_history.outcomes is 'outcomes that moved it';
comment on column recall.seed is 'what chance began with';
comment on column recall.took_ms is 'milliseconds until the answer';
comment on column recall_hit.position is 'place in the order, from 1';
comment on column recall_hit.score is 'what the order goes by';
comment on column recall_hit.evidence is 'from 0 to 1, how sure it is that it is relevant at all';
