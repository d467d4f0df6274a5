-- The world: vocabulary (soas), edges (urd) with their causes and history, the queue of conflicts with its
-- runs, quarantine, other names, and the log by which processes follow each other's changes.

create table soas (
    space_id        text not null references space (id) on delete cascade,
    id              bigint generated always as identity,
    token           text not null check (length(token) between 1 and 200),
    encounter_count integer not null default 0 check (encounter_count >= 0),
    last_seen       timestamptz,
    saliency        double precision not null default 0,
    novelty         double precision not null default 0,
    trusted_seen    boolean not null default false,
    asked_at        timestamptz,
    wanted_at       timestamptz,
    primary key (space_id, id),
    unique (space_id, token)
);
comment on table soas is 'the vocabulary: concepts and dimensions alike, lower-case';
comment on column soas.id is 'number of the concept, given by the database alone';
comment on column soas.encounter_count is 'messages that held the token; common words are not counted';
comment on column soas.saliency is 'logarithm to base 10 of encounter_count, 0 for 0 and 1';
comment on column soas.novelty is '1 since the concept has its first admitted edge, else 0';
comment on column soas.trusted_seen is 'whether a person or a model ever said it';
comment on column soas.asked_at is 'when it was last given to the write job';
comment on column soas.wanted_at is 'when the write job found nothing to write about it';
create index soas_unconfirmed on soas (space_id, last_seen) where novelty = 0;
create index soas_wanted on soas (space_id, wanted_at) where wanted_at is not null;

create table soas_sentence (
    space_id   text not null,
    concept_id bigint not null,
    id         bigint generated always as identity,
    text       text not null check (length(text) <= 300),
    origin     text not null check (origin in ('person', 'system', 'model', 'tool', 'document', 'job')),
    session_id text not null,
    message_id text,
    at         timestamptz not null,
    primary key (space_id, concept_id, id),
    foreign key (space_id, concept_id) references soas (space_id, id) on delete cascade
);
comment on table soas_sentence is 'the last sentences in which a concept stood, without secrets';
comment on column soas_sentence.id is 'rises in the order of keeping';
create index soas_sentence_session on soas_sentence (space_id, session_id);

create table urd (
    space_id       text not null references space (id) on delete cascade,
    id             bigint not null,
    parent_id      bigint not null,
    dim_id         bigint not null,
    is_isa         boolean not null,
    confidence     double precision not null check (confidence between 0 and 1),
    last_confirmed timestamptz,
    source         text not null check (source in ('cloud_llm', 'inferred', 'festinger', 'gutask')),
    origin         text not null check (origin in ('person', 'system', 'model', 'tool', 'document', 'job')),
    evidence_count integer not null default 0 check (evidence_count >= 0),
    person_stated  boolean not null default false,
    unconfirmed    boolean not null default false,
    created_at     timestamptz not null,
    version        bigint not null,
    primary key (space_id, id, parent_id, dim_id),
    foreign key (space_id, id) references soas (space_id, id),
    foreign key (space_id, parent_id) references soas (space_id, id),
    foreign key (space_id, dim_id) references soas (space_id, id)
);
comment on table urd is 'the edges: concept `id` is in `parent_id`, within dimension `dim_id`; the row with all three alike is the root of a dimension';
comment on column urd.id is 'the concept that the edge is about';
comment on column urd.confidence is 'how likely it is true, from 0 to 1';
comment on column urd.evidence_count is 'distinct causes that said it again';
comment on column urd.person_stated is 'whether a person ever said it';
comment on column urd.unconfirmed is 'whether it came out of quarantine and nobody has confirmed it since';
comment on column urd.version is 'version of the world at its last change';
create unique index urd_slot on urd (space_id, id, dim_id);
create index urd_parent on urd (space_id, parent_id);
create index urd_dim on urd (space_id, dim_id);

create table urd_cause (
    space_id    text not null references space (id) on delete cascade,
    id          bigint not null,
    parent_id   bigint not null,
    dim_id      bigint not null,
    agent       text not null,
    session_id  text not null,
    day         date not null,
    origin      text not null,
    message_id  text,
    model       text,
    prompt_hash text,
    cost_usd    numeric,
    at          timestamptz not null,
    primary key (space_id, id, parent_id, dim_id, agent, session_id, day, origin)
);
comment on table urd_cause is 'who said each triple, whether it stands or waits; kept when an edge gives way, so that it can come back';
comment on column urd_cause.id is 'the concept of the triple';
comment on column urd_cause.cost_usd is 'what the model call cost that wrote it; null if unknown or none';
create index urd_cause_session on urd_cause (space_id, session_id);
create index urd_cause_message on urd_cause (space_id, message_id) where message_id is not null;

create table urd_outcome (
    space_id    text not null references space (id) on delete cascade,
    id          bigint not null,
    parent_id   bigint not null,
    dim_id      bigint not null,
    agent       text not null,
    session_id  text not null,
    day         date not null,
    origin      text not null,
    outcome     text not null check (outcome in ('acted', 'contradicted')),
    is_explicit boolean not null,
    moved       double precision not null,
    at          timestamptz not null,
    primary key (space_id, id, parent_id, dim_id, agent, session_id, day, origin, outcome, is_explicit)
);
comment on table urd_outcome is 'what came of notes that showed an edge, once a cause';
comment on column urd_outcome.id is 'the concept of the edge';
comment on column urd_outcome.moved is 'by how much it moved the confidence of the edge';
create index urd_outcome_session on urd_outcome (space_id, session_id);

create table urd_history (
    space_id       text not null references space (id) on delete cascade,
    version        bigint not null,
    n              integer not null,
    op             text not null check (op in ('add', 'replace', 'move', 'remove', 'restore')),
    id             bigint not null,
    parent_id      bigint not null,
    dim_id         bigint not null,
    is_isa         boolean not null,
    confidence     double precision not null,
    last_confirmed timestamptz,
    source         text not null,
    origin         text not null,
    evidence_count integer not null,
    person_stated  boolean not null,
    unconfirmed    boolean not null,
    created_at     timestamptz not null,
    reason         text not null,
    conflict_id    uuid,
    by             text not null,
    at             timestamptz not null,
    primary key (space_id, version, n)
);
comment on table urd_history is 'add and restore put an edge into its slot; replace, move and remove take the one that stood there out, as it was';
comment on column urd_history.version is 'version of the world that the change made';
comment on column urd_history.n is 'place within the version';
comment on column urd_history.id is 'the concept of the edge';
comment on column urd_history.confidence is 'of the edge at that moment';
comment on column urd_history.evidence_count is 'of the edge at that moment';
create index urd_history_concept on urd_history (space_id, id, version);
create index urd_history_at on urd_history (space_id, at);

create table world_version (
    space_id text primary key references space (id) on delete cascade,
    version  bigint not null
);
comment on table world_version is 'one row a space; who changes the world holds it, so it is also the write lock';
comment on column world_version.version is 'count of changes';

create table world_log (
    space_id   text not null references space (id) on delete cascade,
    version    bigint not null,
    n          integer not null,
    kind       text not null check (kind in ('edge', 'concept', 'queue', 'alias', 'forgotten')),
    concept_id bigint,
    dim_id     bigint,
    at         timestamptz not null,
    primary key (space_id, version, n)
);
comment on table world_log is 'what each version changed, for processes that keep the world in memory; kept for a week';
comment on column world_log.version is 'version of the world that the change made';
comment on column world_log.n is 'place within the version';
create index world_log_at on world_log (space_id, at);

create table resolution_queue (
    space_id            text not null references space (id) on delete cascade,
    id                  uuid not null,
    about               text not null default 'edge' check (about in ('edge', 'memory')),
    concept_id          bigint,
    existing_parent_id  bigint,
    incoming_parent_id  bigint,
    dim_id              bigint,
    collision_type      text not null,
    status              text not null default 'pending' check (status in ('pending', 'resolved', 'dismissed')),
    old_memory          uuid,
    new_memory          uuid,
    judgement_id        uuid,
    priority            integer not null default 0,
    existing_is_isa     boolean,
    incoming_is_isa     boolean,
    incoming_confidence double precision,
    incoming_source     text,
    incoming_origin     text,
    sightings           integer not null default 1,
    attempts            integer not null default 0,
    reason              text not null default '',
    decided_by          text,
    resolution          jsonb,
    created_at          timestamptz not null,
    resolved_at         timestamptz,
    primary key (space_id, id),
    check (about = 'memory' or (concept_id is not null and dim_id is not null and incoming_parent_id is not null))
);
comment on table resolution_queue is 'statements that cannot both stand, and how it was decided';
comment on column resolution_queue.priority is 'higher goes first; 10 for what was stated on purpose';
comment on column resolution_queue.incoming_confidence is 'from 0 to 1';
comment on column resolution_queue.sightings is 'how often the incoming statement was met';
comment on column resolution_queue.attempts is 'runs that could not decide it';
comment on column resolution_queue.reason is 'why the last attempt could not decide';
create unique index resolution_queue_once on resolution_queue (space_id, concept_id, dim_id, incoming_parent_id)
    where status = 'pending' and about = 'edge';
create unique index resolution_queue_pair on resolution_queue (space_id, old_memory, new_memory)
    where status = 'pending' and about = 'memory';
create index resolution_queue_order on resolution_queue (space_id, status, priority desc, created_at);

create table resolution_run (
    space_id    text not null references space (id) on delete cascade,
    id          uuid not null,
    state       text not null check (state in ('waiting', 'running', 'done')),
    dry_run     boolean not null,
    pending     integer not null default 0,
    seen        integer not null default 0,
    resolved    integer not null default 0,
    dismissed   integer not null default 0,
    waiting     integer not null default 0,
    failed      integer not null default 0,
    left_over   integer not null default 0,
    cost_usd    numeric,
    started_at  timestamptz not null,
    finished_at timestamptz,
    primary key (space_id, id)
);
comment on column resolution_run.pending is 'conflicts that waited at its start';
comment on column resolution_run.seen is 'conflicts that it looked at';
comment on column resolution_run.resolved is 'conflicts';
comment on column resolution_run.dismissed is 'conflicts';
comment on column resolution_run.waiting is 'conflicts that it could not decide';
comment on column resolution_run.failed is 'conflicts that raised an error';
comment on column resolution_run.left_over is 'conflicts beyond the limit of one run';
comment on column resolution_run.cost_usd is 'what its model calls cost; null if the price of any is unknown';
create unique index resolution_run_one on resolution_run (space_id) where state <> 'done';

create table cue_waiting (
    space_id   text not null references space (id) on delete cascade,
    message_id text not null,
    agent      text not null,
    session_id text not null,
    origin     text not null,
    text_hash  text not null,
    cues       jsonb not null,
    at         timestamptz not null,
    done_at    timestamptz,
    primary key (space_id, message_id)
);
comment on table cue_waiting is 'what a message asserted, until it is written into the world; a done row keeps a repeat from counting';
create index cue_waiting_done on cue_waiting (space_id, done_at) where done_at is not null;

create table cue_quarantine (
    space_id   text not null references space (id) on delete cascade,
    id         uuid not null,
    concept    text not null,
    parent     text not null,
    dim        text not null,
    is_isa     boolean not null,
    pattern    text not null,
    origin     text not null,
    status     text not null default 'waiting' check (status in ('waiting', 'admitted', 'rejected', 'expired')),
    first_seen timestamptz not null,
    decided_at timestamptz,
    primary key (space_id, id)
);
comment on table cue_quarantine is 'statements of text that nobody vouches for; never shown';
create unique index cue_quarantine_triple on cue_quarantine (space_id, concept, parent, dim, is_isa);

create table cue_quarantine_cause (
    space_id      text not null,
    quarantine_id uuid not null,
    agent         text not null,
    session_id    text not null,
    day           date not null,
    origin        text not null,
    text_hash     text not null,
    message_id    text,
    at            timestamptz not null,
    primary key (space_id, quarantine_id, agent, session_id, day, origin, text_hash),
    foreign key (space_id, quarantine_id) references cue_quarantine (space_id, id) on delete cascade
);
comment on column cue_quarantine_cause.text_hash is 'which text held it; the same page has one vote';
create index cue_quarantine_cause_session on cue_quarantine_cause (space_id, session_id);

create table held_session (
    space_id   text not null references space (id) on delete cascade,
    session_id text not null,
    collisions integer not null,
    since      timestamptz not null,
    primary key (space_id, session_id)
);
comment on table held_session is 'sessions whose texts contradicted much that is well established; what they say is quarantined';
comment on column held_session.collisions is 'contradictions within the hour that led to it';

create table session_collision (
    space_id   text not null references space (id) on delete cascade,
    session_id text not null,
    id         bigint not null,
    dim_id     bigint not null,
    parent     text not null,
    at         timestamptz not null,
    primary key (space_id, session_id, id, dim_id, parent)
);
comment on table session_collision is 'triples of nobody''s word that contradict well established edges, by session';
comment on column session_collision.id is 'the concept of the triple';

create table alias (
    space_id   text not null,
    token      text not null,
    concept_id bigint not null,
    at         timestamptz not null,
    primary key (space_id, token),
    foreign key (space_id, concept_id) references soas (space_id, id) on delete cascade
);
comment on table alias is 'other spellings and names of a concept';

create table world_tombstone (
    space_id text not null references space (id) on delete cascade,
    id       uuid not null,
    kind     text not null,
    by       text not null,
    at       timestamptz not null,
    edges    integer not null,
    causes   integer not null,
    others   integer not null,
    primary key (space_id, id)
);
comment on table world_tombstone is 'that something of the world was forgotten, without what it was';
comment on column world_tombstone.edges is 'edges erased';
comment on column world_tombstone.causes is 'causes erased';
comment on column world_tombstone.others is 'rows of history, quarantine, queue, names and sentences erased';
