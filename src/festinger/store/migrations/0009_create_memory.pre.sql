-- Memories: statements with where they came from, how deeply they are held and what became of them; their vectors,
-- sightings, links and changes; what was refused, and the keys by which a call is known again.

create table memory (
    space_id               text not null references space (id) on delete cascade,
    id                     uuid not null,
    seq                    bigint generated always as identity,
    agent_id               text,
    kind                   text not null default 'fact' check (kind in ('fact', 'episodic', 'procedural', 'preference',
                               'reflection', 'correction', 'insight', 'narrative', 'tension')),
    content                text not null check (length(content) between 1 and 8000),
    content_contextualized text,
    compressed             text,
    language               regconfig not null default 'english',
    content_tsv            tsvector generated always as
                               (to_tsvector(language, coalesce(content_contextualized, content))) stored,
    subject                text,
    subject_key            text,
    attribute_key          text,
    value_key              text,
    fold                   bytea not null check (length(fold) = 16),
    gist                   bytea not null check (length(gist) = 16),
    origin                 text not null check (origin in ('person', 'system', 'model', 'tool', 'document', 'job')),
    trust                  real not null check (trust between 0 and 1),
    source                 text,
    source_tag             text not null default 'external_user' check (source_tag in ('external_user',
                               'external_document', 'tool', 'internal_dmn', 'internal_consolidation', 'internal_gut',
                               'scheduled')),
    source_confidence      real not null default 1.0 check (source_confidence between 0 and 1),
    session_id             text,
    episode_id             uuid,
    turn_id                uuid,
    status                 text not null default 'active' check (status in ('active', 'held', 'quarantined',
                               'superseded', 'merged', 'archived')),
    pending                boolean not null default false,
    superseded_by          uuid,
    superseded_at          timestamptz,
    valid_from             timestamptz,
    valid_to               timestamptz,
    immutable              boolean not null default false,
    confidence             double precision not null default 0.5 check (confidence between 0 and 1),
    evidence_count         integer not null default 0 check (evidence_count >= 0),
    corroborations         integer not null default 0 check (corroborations >= 0),
    contradictions         integer not null default 0 check (contradictions >= 0),
    passive_count          integer not null default 0 check (passive_count >= 0),
    confidence_anchor      double precision,
    confidence_ceiling     double precision,
    weight_ceiling         double precision,
    confirmation_count     integer not null default 0 check (confirmation_count >= 0),
    last_confirmed         timestamptz,
    cause_count            integer not null default 1 check (cause_count >= 0),
    weight_alpha           double precision not null default 1.0 check (weight_alpha > 0),
    weight_beta            double precision not null default 4.0 check (weight_beta > 0),
    access_count           integer not null default 0 check (access_count >= 0),
    last_accessed          timestamptz,
    access_times           timestamptz[] not null default '{}',
    utility_score          double precision not null default 0.0,
    event_time             timestamptz,
    event_day              date generated always as ((event_time at time zone 'UTC')::date) stored,
    tags                   text[] not null default '{}',
    metadata               jsonb not null default '{}',
    version                integer not null default 1 check (version >= 1),
    created_at             timestamptz not null,
    updated_at             timestamptz not null,
    primary key (space_id, id),
    foreign key (space_id, superseded_by) references memory (space_id, id),
    check ((superseded_by is not null) = (status in ('superseded', 'merged')))
) with (fillfactor = 75);
comment on table memory is 'one statement a row, in whatever state; nothing leaves but by being forgotten';
comment on column memory.seq is 'rises in the order in which the memories of one owner were stored';
comment on column memory.agent_id is 'its owner; null: shared by the space';
comment on column memory.fold is 'of the words as they are compared';
comment on column memory.gist is 'of the words that carry meaning, in their order';
comment on column memory.trust is 'from 0 to 1, of whoever said it; of something derived the lowest of its sources';
comment on column memory.source_confidence is 'from 0 to 1, how sure the source called itself';
comment on column memory.pending is 'whether a judgement about it is still open';
comment on column memory.confidence is 'from 0 to 1, how likely it is true';
comment on column memory.evidence_count is 'signals that moved the confidence';
comment on column memory.corroborations is 'signals of at least one half';
comment on column memory.contradictions is 'signals below one half';
comment on column memory.passive_count is 'signals that nobody gave on purpose';
comment on column memory.confidence_anchor is 'confidence after the last signal that somebody gave on purpose';
comment on column memory.confidence_ceiling is 'confidence that only a person or an explicit outcome may lift it above';
comment on column memory.weight_ceiling is 'center that only a person or an explicit outcome may lift it above';
comment on column memory.confirmation_count is 'times that it was said again, by whomever';
comment on column memory.cause_count is 'distinct counted causes: the only count that is evidence';
comment on column memory.weight_alpha is 'alpha of the Beta distribution of its weight';
comment on column memory.weight_beta is 'beta of the Beta distribution of its weight';
comment on column memory.access_count is 'confirmed reads';
comment on column memory.utility_score is 'how useful it proved, for promotion';
comment on column memory.event_time is 'when it happened, not when it was said';
comment on column memory.version is 'rises with each change of what it says or of its state';
create unique index memory_once on memory (space_id, agent_id, kind, fold, event_day) nulls not distinct
    where status in ('active', 'held', 'quarantined');
create index memory_fold on memory (space_id, fold) where status in ('active', 'held', 'quarantined');
create index memory_gist on memory (space_id, gist) where status in ('active', 'held', 'quarantined');
create index memory_slot on memory (space_id, subject_key, attribute_key)
    where status in ('active', 'held', 'quarantined');
create index memory_words on memory using gin (content_tsv);
create index memory_successor on memory (space_id, superseded_by) where superseded_by is not null;
create index memory_source on memory (space_id, source);
create index memory_session on memory (space_id, session_id);
create index memory_created on memory (space_id, created_at);
create index memory_order on memory (space_id, agent_id, seq);
create index memory_waiting on memory (space_id, status) where pending or status in ('held', 'quarantined');

create table memory_vector (
    space_id  text not null,
    memory_id uuid not null,
    model     text not null,
    purpose   text not null check (purpose in ('store', 'query', 'compare', 'cluster')),
    dims      integer not null check (dims > 0),
    text_hash bytea not null,
    embedding halfvec not null,
    at        timestamptz not null,
    primary key (space_id, memory_id, model, purpose),
    foreign key (space_id, memory_id) references memory (space_id, id) on delete cascade
);
comment on table memory_vector is 'vectors beside their memories, which change too often to carry an index of vectors';
comment on column memory_vector.model is 'who made it; vectors of different models are never compared';
comment on column memory_vector.dims is 'numbers in the vector';
comment on column memory_vector.text_hash is 'of the text that was embedded';
create index memory_vector_model on memory_vector (space_id, model, purpose);

create table memory_sighting (
    space_id          text not null,
    id                uuid not null,
    memory_id         uuid not null,
    agent_id          text not null,
    session_id        text not null default '',
    day               date not null,
    origin            text not null check (origin in ('person', 'system', 'model', 'tool', 'document', 'job')),
    trust             real not null check (trust between 0 and 1),
    wording           text not null,
    source            text,
    episode_id        uuid,
    turn_id           uuid,
    similarity        double precision,
    judgement_id      uuid,
    at                timestamptz not null,
    counted           boolean not null,
    uncounted_because text,
    moved_by          uuid,
    primary key (space_id, id),
    foreign key (space_id, memory_id) references memory (space_id, id) on delete cascade
);
comment on table memory_sighting is 'each time a memory was said; the first one has the id of its memory';
comment on column memory_sighting.trust is 'from 0 to 1, of whoever said it';
comment on column memory_sighting.similarity is 'cosine between this wording and the memory';
comment on column memory_sighting.counted is 'whether it brought a new cause';
comment on column memory_sighting.moved_by is 'the merge that brought it here from a twin';
create index memory_sighting_cause on memory_sighting (space_id, memory_id, agent_id, day, origin) where counted;
create index memory_sighting_memory on memory_sighting (space_id, memory_id, at);
create index memory_sighting_session on memory_sighting (space_id, session_id);
create index memory_sighting_source on memory_sighting (space_id, source);

create table memory_link (
    space_id     text not null,
    from_id      uuid not null,
    to_id        uuid not null,
    relation     text not null check (relation in ('derives_from', 'supersedes', 'refines', 'contradicts', 'same_as',
                     'about')),
    weight       double precision not null default 1.0,
    judgement_id uuid,
    at           timestamptz not null,
    undone_at    timestamptz,
    primary key (space_id, from_id, to_id, relation),
    foreign key (space_id, from_id) references memory (space_id, id) on delete cascade
);
comment on table memory_link is 'how memories relate; what something derives from may also be a turn that was said';
comment on column memory_link.weight is 'from 0 to 1';
create index memory_link_to on memory_link (space_id, to_id, relation);

create table memory_change (
    space_id     text not null references space (id) on delete cascade,
    id           uuid not null,
    op           text not null check (op in ('confirm', 'merge', 'split', 'supersede', 'restore', 'archive', 'edit',
                     'quarantine', 'release', 'weight', 'repair')),
    memory_ids   uuid[] not null,
    before       jsonb not null default '{}',
    after        jsonb not null default '{}',
    reason       text not null default '',
    by           text not null,
    cause        jsonb,
    judgement_id uuid,
    at           timestamptz not null,
    undone_at    timestamptz,
    undone_by    text,
    primary key (space_id, id)
);
comment on table memory_change is 'what was done to memories, with what was there before, so that it can be undone';
create index memory_change_memories on memory_change using gin (memory_ids);
create index memory_change_op on memory_change (space_id, op, at);

create table refusal (
    space_id   text not null references space (id) on delete cascade,
    id         uuid not null,
    reason     text not null,
    detail     text not null default '',
    text       text not null check (length(text) <= 2000),
    agent_id   text not null,
    session_id text not null default '',
    day        date not null,
    origin     text not null check (origin in ('person', 'system', 'model', 'tool', 'document', 'job')),
    at         timestamptz not null,
    learnt_id  uuid,
    primary key (space_id, id)
);
comment on table refusal is 'statements that were not learnt, without their secrets, and why';
create index refusal_at on refusal (space_id, at);

create table learn_key (
    space_id  text not null references space (id) on delete cascade,
    agent_id  text not null,
    key       text not null check (length(key) between 1 and 200),
    body_hash bytea not null,
    result    jsonb not null,
    at        timestamptz not null,
    primary key (space_id, agent_id, key)
);
comment on table learn_key is 'what a call with an idempotency key did, kept for a day';
create index learn_key_at on learn_key (space_id, at);
