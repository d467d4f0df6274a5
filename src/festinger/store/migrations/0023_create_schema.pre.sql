-- The whole schema; 0024 is the next migration. It replaces the 23 files with which databases were made before.


-- A space is an isolated shared world: the tenant that every other table leads its key with.
create extension if not exists vector;

create table space (
    id               text primary key check (id ~ '^[a-z][a-z0-9-]{0,62}$'),
    name             text not null unique check (name ~ '^[a-z][a-z0-9-]{0,62}$'),
    created_at       timestamptz not null default now(),
    settings_version bigint not null default 0
);
comment on column space.settings_version is 'rises with each change of the space''s own settings';

insert into space (id, name) values ('main', 'main');


-- What belongs to no single room: settings rows, API keys, the ledger of runs, the versions of caches.
-- A `space_id` of '*' means all spaces, which is no row of `space`; therefore three of these tables have
-- no foreign key to it, and `store/spaces.py` erases a space from them by name. Every other tenant table
-- says `space_id text not null references space (id) on delete cascade`.

create table config (
    space_id   text not null,
    key        text not null,
    value      text not null,
    updated_at timestamptz not null,
    updated_by text not null,
    primary key (space_id, key)
);
comment on table config is 'settings that people changed while Festinger ran; a row of ''*'' is for all spaces';
comment on column config.key is 'full name of the setting, such as llm.write';
comment on column config.value is 'the value as the environment would give it; only validated values are written';

create table api_key (
    space_id     text not null,
    id           uuid not null,
    name         text not null check (length(name) between 1 and 100),
    role         text not null check (role in ('proxy', 'agent', 'reviewer', 'admin')),
    agent_id     text,
    hash         bytea not null check (octet_length(hash) = 32),
    created_at   timestamptz not null,
    revoked_at   timestamptz,
    last_used_at timestamptz,
    primary key (space_id, id)
);
comment on table api_key is 'who may call; the key itself is shown once and never stored';
comment on column api_key.hash is 'SHA-256 of the whole key, prefix included';
comment on column api_key.last_used_at is 'written at most once a minute';
create unique index api_key_name on api_key (space_id, name) where revoked_at is null;
-- Not unique: a key is found before its space is known, and 32 random bytes do not meet by chance.
create index api_key_hash on api_key (hash);

create table run (
    id         uuid primary key,
    door       text not null,
    version    text not null,
    host       text not null,
    pid        integer not null,
    started_at timestamptz not null,
    stopped_at timestamptz,
    clean      boolean,
    pins       text[] not null default '{}'
);
comment on table run is 'one row for each process that opened the store';
comment on column run.pid is 'process id on `host`';
comment on column run.clean is 'null while it runs; false when it was found gone without a word';
create index run_unfinished on run (host) where clean is null;
comment on column run.pins is 'names of the settings that the table cannot change for it';

create table cache_version (
    space_id text not null,
    room     text not null,
    version  bigint not null,
    primary key (space_id, room)
);
comment on column cache_version.version is 'count of writes; rises with each, in the transaction of the write';


-- The outbox with who has been told what, and what our own side keeps about background work. The engine's
-- own tables come with its own migrations. A `space_id` of '*' is an event of the whole installation, which
-- is no row of `space`; therefore `event` has no foreign key to it.

create sequence event_seq;

create table event (
    space_id   text not null,
    id         uuid not null,
    seq        bigint not null default nextval('event_seq'),
    name       text not null,
    version    smallint not null check (version > 0),
    subject    text not null check (length(subject) between 1 and 200),
    agent_id   text,
    session_id text,
    trace_id   text,
    caused_by  uuid,
    payload    jsonb not null,
    at         timestamptz not null,
    primary key (space_id, id)
);
comment on table event is 'what happened; written in the transaction that made it happen';
comment on column event.seq is 'order of writing; taken under the lock of the subject, so it rises in commit order per subject';
comment on column event.version is 'version of the payload''s shape';
comment on column event.subject is 'what it happened to; events of one subject are delivered in order';
comment on column event.caused_by is 'the event that led to this one';
comment on column event.payload is 'ids and numbers; no text beyond 200 characters';
create index event_order on event (space_id, seq);
create index event_age on event (at);
create index event_trace on event (space_id, trace_id, seq) where trace_id is not null;

create table event_delivery (
    space_id   text not null,
    event_id   uuid not null,
    subscriber text not null,
    state      text not null check (state in ('waiting', 'delivered', 'dead', 'dropped')),
    at         timestamptz not null,
    state_at   timestamptz not null,
    note       text not null default '',
    primary key (space_id, event_id, subscriber),
    foreign key (space_id, event_id) references event (space_id, id) on delete cascade
);
comment on table event_delivery is 'who is to be told, written with the event; who was told, written with the subscriber''s own rows';
comment on column event_delivery.at is 'when the event happened';
comment on column event_delivery.state_at is 'when the state was reached';
comment on column event_delivery.note is 'the error of a dead delivery, the reason of a dropped one';
create index event_delivery_waiting on event_delivery (subscriber, at) where state = 'waiting';
create index event_delivery_dead on event_delivery (subscriber, at) where state = 'dead';

create table job_record (
    job_id          bigint primary key,
    name            text not null,
    done            bigint,
    total           bigint,
    note            text not null default '',
    reported_at     timestamptz,
    cancel_asked_at timestamptz,
    forgiven        integer not null default 0,
    worker_deaths   integer not null default 0,
    error           text not null default '',
    error_text      text not null default '',
    first_failed_at timestamptz,
    last_failed_at  timestamptz,
    dead_at         timestamptz,
    dropped_at      timestamptz,
    drop_note       text not null default ''
);
comment on table job_record is 'what the engine does not keep about a job: progress, errors, worker deaths';
comment on column job_record.done is 'steps done; the unit is the job''s own';
comment on column job_record.total is 'steps in all, if that is known';
comment on column job_record.forgiven is 'attempts that do not count: interrupted, postponed, or before a retry by hand';
comment on column job_record.worker_deaths is 'workers that died while they ran it, since the last retry by hand';
comment on column job_record.error is 'name of the last error';
create index job_record_dead on job_record (dead_at) where dead_at is not null and dropped_at is null;

create table periodic (
    name        text primary key,
    line        text not null,
    since       timestamptz not null,
    checked_at  timestamptz not null,
    last_due_at timestamptz,
    last_job_id bigint,
    result      text not null default '',
    result_at   timestamptz
);
comment on table periodic is 'each periodic job with the cron line that was last seen in the settings';
comment on column periodic.since is 'no run is due that was due up to this moment';
comment on column periodic.checked_at is 'the last tick';
comment on column periodic.result is 'how the last run ended';

create table periodic_run (
    name   text not null,
    due_at timestamptz not null,
    job_id bigint,
    primary key (name, due_at)
);
comment on table periodic_run is 'one row for each due run; being unique, it makes many workers start it once';


-- The models that people added with their keys, what each call to a model cost, and which master key seals.

create table models (
    space_id   text not null references space (id) on delete cascade,
    id         uuid not null,
    provider   text not null check (provider in ('claude', 'openai', 'ollama', 'gemini')),
    model_name text not null check (length(model_name) between 1 and 200),
    api_key    text check (api_key like 'v1:gcm:%'),
    base_url   text,
    created_at timestamptz not null,
    primary key (space_id, id)
);
comment on column models.api_key is 'sealed; bound to this table, column, space and row';
comment on column models.base_url is 'null means the provider''s own address';

create table cost (
    space_id      text not null references space (id) on delete cascade,
    id            uuid not null,
    at            timestamptz not null,
    agent_id      text not null,
    session_id    text,
    purpose       text not null check (purpose in ('write', 'resolve', 'judge', 'chat', 'system2')),
    provider      text not null,
    model         text not null,
    tokens_in     bigint,
    tokens_out    bigint,
    tokens_cached bigint,
    cost_usd      numeric,
    latency_ms    bigint not null check (latency_ms >= 0),
    ok            boolean not null,
    prompt_hash   text check (prompt_hash ~ '^[0-9a-f]{12}$'),
    job_id        bigint,
    primary key (space_id, id)
);
comment on table cost is 'one row for each call to a model, also for one that failed';
comment on column cost.tokens_in is 'null if the provider did not tell';
comment on column cost.tokens_out is 'tokens; null if the provider did not tell';
comment on column cost.tokens_cached is 'tokens of tokens_in that the provider had kept from before';
comment on column cost.latency_ms is 'milliseconds from asking to the whole answer';
comment on column cost.cost_usd is 'null if the price is unknown; never 0 for that';
comment on column cost.ok is 'whether it gave an answer that could be used';
create index cost_at on cost (at, purpose);
create index cost_session on cost (space_id, session_id) where session_id is not null;

create table master_key (
    sole   boolean primary key default true check (sole),
    key_id text not null
);
comment on table master_key is 'the name of the key that secrets are sealed with; the key itself is never here';


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
    is_isa      boolean,
    confidence  double precision check (confidence between 0 and 1),
    source      text check (source in ('cloud_llm', 'inferred', 'festinger', 'gutask')),
    from_quarantine boolean,
    last_at     timestamptz,
    primary key (space_id, id, parent_id, dim_id, agent, session_id, day, origin)
);
comment on table urd_cause is 'who said each triple, whether it stands or waits; kept when an edge gives way, so that it can come back';
comment on column urd_cause.id is 'the concept of the triple';
comment on column urd_cause.cost_usd is 'what the model call cost that wrote it; null if unknown or none';
create index urd_cause_session on urd_cause (space_id, session_id);
create index urd_cause_message on urd_cause (space_id, message_id) where message_id is not null;
comment on column urd_cause.is_isa is 'whether it said kind or part; none, like what follows, where that was not kept yet';
comment on column urd_cause.confidence is 'of the statement, from 0 to 1';
comment on column urd_cause.source is 'by which way it was said';
comment on column urd_cause.from_quarantine is 'whether it was let in because enough others had said it';
comment on column urd_cause.last_at is 'when it said so last';

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
    weight      double precision check (weight between 0 and 1),
    primary key (space_id, id, parent_id, dim_id, agent, session_id, day, origin, outcome, is_explicit)
);
comment on table urd_outcome is 'what came of notes that showed an edge, once a cause';
comment on column urd_outcome.id is 'the concept of the edge';
comment on column urd_outcome.moved is 'by how much it moved the confidence of the edge';
create index urd_outcome_session on urd_outcome (space_id, session_id);
comment on column urd_outcome.weight is 'share of a full step that it counted for; none where that was not kept yet';

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


-- Judgements: what was said of two statements, by whom, how surely and why; those that are not final wait.

create table judgement (
    space_id     text not null references space (id) on delete cascade,
    id           uuid not null,
    old_ref      uuid not null,
    new_ref      uuid not null,
    old_hash     bytea not null check (length(old_hash) = 16),
    new_hash     bytea not null check (length(new_hash) = 16),
    relation     text not null check (relation in ('same', 'update', 'contradicts', 'refines', 'unrelated', 'unsure')),
    current      text not null check (current in ('new', 'old', 'both')),
    confidence   double precision not null check (confidence between 0 and 1),
    judge        text not null check (length(judge) between 1 and 200),
    reasoning    text not null,
    guards       text[] not null default '{}',
    prompt_hash  text,
    final        boolean not null,
    attempts     integer not null default 1 check (attempts >= 0),
    next_try     timestamptz,
    latency_ms   double precision not null check (latency_ms >= 0),
    at           timestamptz not null,
    overruled_by uuid,
    primary key (space_id, id)
);
comment on table judgement is 'what judges said of two statements; a row that is not final waits and is tried again';
comment on column judgement.old_ref is 'the statement that stood, by its id where it is kept';
comment on column judgement.old_hash is 'of the folded text, so that the same words are not judged twice';
comment on column judgement.current is 'which of the two holds now';
comment on column judgement.confidence is 'how sure the judge is, from 0 to 1';
comment on column judgement.judge is 'rules@version, onnx:model, llm:provider:model or person:name';
comment on column judgement.guards is 'what keeps the two from being the same';
comment on column judgement.attempts is 'tries by the judge that is named; a new judge begins anew';
comment on column judgement.next_try is 'when it is tried again; null if only a new judge or a person can tell';
comment on column judgement.latency_ms is 'milliseconds that judging took';
comment on column judgement.overruled_by is 'the judgement of a person that took its place';
create unique index judgement_waiting on judgement (space_id, old_ref, new_ref) where not final;
create index judgement_due on judgement (space_id, next_try) where not final;
create index judgement_texts on judgement (space_id, old_hash, new_hash);
create index judgement_new on judgement (space_id, new_ref);
create index judgement_old on judgement (space_id, old_ref);
create index judgement_asked on judgement (space_id, at) where judge like 'llm:%';


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


-- People who are logged in to the console. A row begins as a one-time link or as a shown key, and becomes a session
-- when it is opened. A `space_id` of '*' means all spaces, as for API keys, so there is no foreign key to `space`.

create table console_session (
    space_id   text not null,
    id         uuid not null,
    name       text not null check (length(name) between 1 and 100),
    role       text not null check (role in ('agent', 'reviewer', 'admin')),
    key_id     uuid,
    link_hash  bytea check (octet_length(link_hash) = 32),
    link_until timestamptz,
    hash       bytea check (octet_length(hash) = 32),
    made_at    timestamptz not null,
    opened_at  timestamptz,
    seen_at    timestamptz,
    ended_at   timestamptz,
    primary key (space_id, id),
    foreign key (space_id, key_id) references api_key (space_id, id) on delete cascade,
    check ((opened_at is null) = (hash is null))
);
comment on table console_session is 'who is logged in to the console; neither link nor cookie is stored, only their hashes';
comment on column console_session.name is 'who decides, as it stands on each decision';
comment on column console_session.key_id is 'the key that it was opened with; a session ends with its key';
comment on column console_session.link_hash is 'SHA-256 of the one-time link';
comment on column console_session.hash is 'SHA-256 of the cookie; null until it is opened';
comment on column console_session.seen_at is 'written at most once a minute';
-- Not unique: a cookie is found before its space is known, and 32 random bytes do not meet by chance.
create index console_session_hash on console_session (hash) where hash is not null;
create index console_session_link on console_session (link_hash) where link_hash is not null;
create index console_session_key on console_session (space_id, key_id);


-- Memories: statements with where they came from, how deeply they are held and what became of them; their vectors,
-- sightings, links and changes; what was refused, and the keys by which a call is known again.

-- The words of the tags of a memory, by which it is called. A tag with a colon is a label that nobody says.
create function tag_words(language regconfig, tags text[]) returns tsvector
    language sql immutable parallel safe
    as $$ select to_tsvector(language, coalesce(string_agg(tag, ' '), '')) from unnest(tags) as tag where tag !~ ':' $$;

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
    tags_tsv               tsvector generated always as (tag_words(language, tags)) stored,
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
comment on column memory.tags_tsv is 'words of its tags but for labels like `domain:code`';
create index memory_called on memory using gin (tags_tsv) where tags_tsv <> ''::tsvector;
-- Preferences and rules are considered for every message, so the newest of an agent must be found at once.
create index memory_standing on memory (space_id, agent_id, seq)
    where status = 'active' and kind in ('preference', 'procedural');

create table memory_vector (
    space_id  text not null,
    memory_id uuid not null,
    model     text not null,
    purpose   text not null check (purpose in ('store', 'query', 'compare', 'cluster')),
    dims      integer not null check (dims > 0),
    text_hash bytea not null,
    embedding halfvec not null,
    at        timestamptz not null,
    is_bare   boolean not null default false,
    primary key (space_id, memory_id, model, purpose),
    foreign key (space_id, memory_id) references memory (space_id, id) on delete cascade
);
comment on table memory_vector is 'vectors beside their memories, which change too often to carry an index of vectors';
comment on column memory_vector.model is 'who made it; vectors of different models are never compared';
comment on column memory_vector.dims is 'numbers in the vector';
comment on column memory_vector.text_hash is 'of the text that was embedded';
create index memory_vector_model on memory_vector (space_id, model, purpose);
comment on column memory_vector.is_bare is
    'of purpose `store`: a model reads these words alike for comparing, so there is no vector beside it';

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
    told              jsonb,
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
comment on column memory_sighting.told is 'subject, time and tags that came with it; none where that was not kept yet';

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
    remaining  text,
    primary key (space_id, episode_id, seq),
    foreign key (space_id, episode_id) references episode (space_id, id) on delete cascade
);
comment on table episode_turn is 'what was said, without secrets and without our own notes';
comment on column episode_turn.seq is 'place within the episode';
comment on column episode_turn.surfaced is 'memories that were brought to mind with it';
create unique index episode_turn_once on episode_turn (space_id, turn_id);
create index episode_turn_at on episode_turn (space_id, at);
comment on column episode_turn.remaining is 'what it is summed up by, without what was taken back; none while that is all of it';

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


-- Outcomes: what was brought to mind and what became of it, reads that wait for an outcome, rhythms, predictions, and
-- the log from which confidence and weight can be computed again.

create table surfacing (
    space_id          text not null references space (id) on delete cascade,
    id                uuid not null,
    memory_id         uuid not null,
    partition         text not null,
    agent_id          text not null,
    session_id        text not null default '',
    turn_id           uuid,
    recall_id         uuid,
    door              text not null default '',
    reason            text not null,
    position          integer not null default 0 check (position >= 0),
    times             integer not null default 1 check (times >= 1),
    first_surfaced_at timestamptz not null,
    surfaced_at       timestamptz not null,
    outcome           text check (outcome in ('acted', 'used', 'dismissed', 'deferred', 'contradicted')),
    how               text check (how in ('explicit', 'self', 'inferred', 'expired')),
    resolved_at       timestamptz,
    primary key (space_id, id),
    check ((outcome is null) = (how is null)),
    check ((outcome is null) = (resolved_at is null))
) with (fillfactor = 80);
comment on table surfacing is 'what was put before a model, and what became of it; no outcome: it waits for one';
comment on column surfacing.memory_id is 'the memory; of a forgotten one only zeros are left, so that totals stay';
comment on column surfacing.door is 'through which door it was put before the model';
comment on column surfacing.position is 'place among what was put before the model together';
comment on column surfacing.times is 'times that it was surfaced while it waited';
create unique index surfacing_pending on surfacing (space_id, partition, memory_id) where outcome is null;
create index surfacing_waiting on surfacing (space_id, surfaced_at) where outcome is null;
create index surfacing_memory on surfacing (space_id, memory_id, surfaced_at);
create index surfacing_recall on surfacing (space_id, recall_id) where recall_id is not null;
create index surfacing_session on surfacing (space_id, session_id, surfaced_at);
create index surfacing_resolved on surfacing (space_id, resolved_at) where outcome is not null;

create table staged_read (
    space_id   text not null references space (id) on delete cascade,
    id         uuid not null,
    memory_id  uuid not null,
    partition  text not null,
    at         timestamptz not null,
    expires_at timestamptz not null,
    primary key (space_id, id)
);
comment on table staged_read is 'reads that count once the memory was used';
create index staged_read_memory on staged_read (space_id, memory_id, partition);
create index staged_read_expiry on staged_read (space_id, expires_at);

create table rhythm (
    space_id             text not null,
    memory_id            uuid not null,
    decay_rate           double precision,
    base_score           double precision not null default 1.0,
    last_touched         timestamptz,
    pressure_rate        double precision not null default 0.0,
    pressure_declared_at timestamptz,
    pressure_resolved_at timestamptz,
    primary key (space_id, memory_id),
    foreign key (space_id, memory_id) references memory (space_id, id) on delete cascade
);
comment on table rhythm is 'how the strength of a memory moves with time; no row: as the settings say, since it was made';
comment on column rhythm.decay_rate is 'none: as the settings say';
comment on column rhythm.base_score is 'what decays, one day after it was touched';
comment on column rhythm.pressure_rate is 'how much more it presses each day that it is left alone';
comment on column rhythm.last_touched is 'when it was last acted on; none: never, so its making counts';

create table cycle (
    space_id           text not null,
    memory_id          uuid not null,
    n                  integer not null check (n >= 0),
    period_s           double precision not null check (period_s > 0),
    amplitude          double precision not null,
    phase_s            double precision not null default 0.0,
    declared_amplitude double precision not null,
    declared_at        timestamptz not null,
    primary key (space_id, memory_id, n),
    foreign key (space_id, memory_id) references memory (space_id, id) on delete cascade
);
comment on table cycle is 'what comes round: a memory is stronger at its time';
comment on column cycle.n is 'place among the cycles of its memory';
comment on column cycle.period_s is 'seconds from one time to the next';
comment on column cycle.declared_amplitude is 'as somebody declared it';
comment on column cycle.amplitude is 'as outcomes have moved it since it was declared';
comment on column cycle.phase_s is 'seconds since the epoch at which it is strongest';

create table prediction (
    space_id         text not null,
    memory_id        uuid not null,
    predicted        jsonb not null,
    actual           jsonb,
    recorded_at      timestamptz not null,
    resolved         boolean not null default false,
    resolution_mode  text check (resolution_mode in ('explicit', 'observed')),
    prediction_error double precision,
    resolved_at      timestamptz,
    primary key (space_id, memory_id),
    foreign key (space_id, memory_id) references memory (space_id, id) on delete cascade
);
comment on table prediction is 'what a memory was expected to lead to, and how far that was wrong';

comment on column prediction.prediction_error is 'from 0, as expected, to 1, wholly wrong';

create table outcome (
    space_id          text not null references space (id) on delete cascade,
    id                uuid not null,
    batch_id          uuid not null,
    memory_id         uuid not null,
    turn_id           uuid,
    recall_id         uuid,
    agent_id          text not null,
    session_id        text not null default '',
    day               date not null,
    origin            text not null check (origin in ('person', 'system', 'model', 'tool', 'document', 'job')),
    outcome           text not null check (outcome in ('acted', 'used', 'dismissed', 'deferred', 'contradicted')),
    how               text not null check (how in ('explicit', 'self', 'inferred', 'expired')),
    reporter          text not null,
    q                 double precision not null,
    w                 double precision not null,
    credit            double precision not null,
    signal            double precision,
    second_signal     double precision,
    evidence_cap      integer not null,
    passive_span      double precision not null,
    confidence_before double precision not null,
    confidence_after  double precision not null,
    alpha_before      double precision not null,
    beta_before       double precision not null,
    alpha_gain        double precision not null,
    beta_gain         double precision not null,
    center_after      double precision not null,
    cycle_factor      double precision not null,
    prediction_error  double precision,
    evidence          jsonb not null default '{}',
    counted           boolean not null,
    uncounted_because text,
    replaced_by       uuid,
    at                timestamptz not null,
    primary key (space_id, id)
);
comment on table outcome is 'what was done with a memory, and all that is needed to compute its effect again';
comment on column outcome.batch_id is 'the report that it came with';
comment on column outcome.q is 'from 0 to 1, how sure whoever told was';
comment on column outcome.w is 'what it weighs: 1 if somebody told it on purpose';
comment on column outcome.credit is 'its share in the gain of one reply';
comment on column outcome.signal is 'from 0, false, to 1, true; none if it says nothing of that';
comment on column outcome.evidence_cap is 'signals after which each further one moves confidence alike';
comment on column outcome.passive_span is 'how far it may move confidence if nobody told it on purpose';
comment on column outcome.confidence_before is 'from 0 to 1';
comment on column outcome.confidence_after is 'from 0 to 1';
comment on column outcome.alpha_before is 'alpha of the weight before';
comment on column outcome.beta_before is 'beta of the weight before';
comment on column outcome.cycle_factor is 'what it multiplied the cycles by';
comment on column outcome.prediction_error is 'from 0 to 1, of the prediction that it ended';
comment on column outcome.second_signal is 'of a prediction that was far off';
comment on column outcome.alpha_gain is 'what spoke for its weight, before that was divided by what was known';
comment on column outcome.beta_gain is 'what spoke against its weight';
comment on column outcome.center_after is 'center of its weight afterwards';
comment on column outcome.counted is 'whether it moved anything';
comment on column outcome.replaced_by is 'the outcome of the same turn that stands in its place';
create index outcome_memory on outcome (space_id, memory_id, at, id);
create index outcome_at on outcome (space_id, at, id);
create index outcome_session on outcome (space_id, session_id);
create index outcome_turn on outcome (space_id, turn_id) where turn_id is not null;

create table outcome_batch (
    space_id  text not null references space (id) on delete cascade,
    id        uuid not null,
    key       text not null check (length(key) between 1 and 400),
    body_hash bytea not null,
    result    jsonb not null,
    at        timestamptz not null,
    primary key (space_id, id),
    unique (space_id, key)
);
comment on table outcome_batch is 'what a report with an idempotency key did, kept for a day';
create index outcome_batch_at on outcome_batch (space_id, at);


-- What people asked to forget, as marks by which the same words are known when they come back by themselves.

create table forgotten_mark (
    space_id text not null references space (id) on delete cascade,
    mark     text not null check (length(mark) = 64),
    at       timestamptz not null,
    primary key (space_id, mark)
);
comment on table forgotten_mark is 'keyed hashes of forgotten words; the key is kept outside of the database';


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


-- Proposals: suggested changes with their sightings, what people decided of them, what each decision did, and the runs
-- of the gate.

create table proposal (
    space_id         text not null references space (id) on delete cascade,
    id               uuid not null,
    fingerprint      text not null,
    profile          text not null check (profile in ('festinger', 'compat-course', 'compat-agent')),
    normalised       text not null,
    category         text not null check (length(category) between 1 and 40),
    scope            text not null check (length(scope) between 1 and 40),
    type             text not null check (type in ('memory_change', 'identity_promotion', 'censor_rule',
                         'censor_escalation', 'dimension_decomposition', 'settings_change', 'forget_request', 'advice')),
    what             text not null check (length(what) <= 500),
    why              text not null default '' check (length(why) <= 4000),
    how              text not null default '' check (length(how) <= 4000),
    payload          jsonb not null default '{}',
    target           jsonb not null default '{}',
    state            text not null default 'waiting' check (state in ('waiting', 'promoted', 'approved', 'applied',
                         'undone', 'rejected', 'deepening', 'deferred', 'duplicate')),
    held             text check (held in ('like_rejected', 'producer_muted')),
    seen_count       integer not null default 0 check (seen_count >= 0),
    days_seen        integer not null default 0 check (days_seen >= 0),
    sightings        bigint not null default 0 check (sightings >= 0),
    first_seen       timestamptz,
    last_seen        timestamptz,
    counted_since    timestamptz,
    evaluated_at     timestamptz,
    promoted_at      timestamptz,
    priority         text not null default 'low' check (priority in ('low', 'normal', 'high')),
    producer         text not null check (length(producer) between 1 and 80),
    suppressed_until timestamptz,
    deferred_until   timestamptz,
    seen_after       integer not null default 0 check (seen_after >= 0),
    decided_at       timestamptz,
    rejections       integer not null default 0 check (rejections >= 0),
    reevaluations    integer not null default 0 check (reevaluations >= 0),
    duplicate_of     uuid,
    created_at       timestamptz not null,
    version          integer not null default 1 check (version >= 1),
    primary key (space_id, id),
    foreign key (space_id, duplicate_of) references proposal (space_id, id),
    check ((state = 'duplicate') = (duplicate_of is not null)),
    check (duplicate_of <> id)
) with (fillfactor = 80);
comment on table proposal is 'a suggested change, which waits until it has recurred and lasted, and then for a person';
comment on column proposal.fingerprint is 'of category, scope and normalised words; the space is not part of it';
comment on column proposal.profile is 'how the words were normalised';
comment on column proposal.what is 'as it was first worded; empty once it was forgotten';
comment on column proposal.target is 'ids and versions that it would touch';
comment on column proposal.held is 'why it is kept from being promoted; null: it is not';
comment on column proposal.suppressed_until is 'how long a rejection silences it, or how long it is held';
comment on column proposal.seen_count is 'distinct causes that count, since counted_since';
comment on column proposal.days_seen is 'distinct days among the sightings that count';
comment on column proposal.sightings is 'times that it was said, whether that counted or not';
comment on column proposal.first_seen is 'earliest sighting that counts';
comment on column proposal.counted_since is 'sightings from then on count, which may lie ahead; null: all of them';
comment on column proposal.evaluated_at is 'latest moment at which its age was read, so that a clock that goes back makes nothing younger';
comment on column proposal.seen_after is 'distinct causes since it was decided in favour';
comment on column proposal.decided_at is 'when a person decided it last';
comment on column proposal.rejections is 'times that a person said no';
comment on column proposal.reevaluations is 'times that it was thought about again';
comment on column proposal.duplicate_of is 'the proposal that says the same and stands for both';
comment on column proposal.version is 'rises with each change that a person should see before deciding';
create unique index proposal_fingerprint on proposal (space_id, profile, fingerprint, normalised)
    where duplicate_of is null;
create index proposal_words on proposal (space_id, profile, fingerprint);
create index proposal_waiting on proposal (space_id, seen_count, id) where state = 'waiting';
create index proposal_open on proposal (space_id, promoted_at, id) where state in ('promoted', 'deepening', 'deferred');
create index proposal_listed on proposal (space_id, state, last_seen desc, id);
create index proposal_scope on proposal (space_id, scope, last_seen desc);
create index proposal_seen on proposal (space_id, last_seen, id);
create index proposal_duplicates on proposal (space_id, duplicate_of) where duplicate_of is not null;
create index proposal_producer on proposal (space_id, producer, category, decided_at);
create index proposal_promotions on proposal (space_id, promoted_at) where promoted_at is not null;

create table proposal_sighting (
    space_id          text not null references space (id) on delete cascade,
    id                uuid not null,
    proposal_id       uuid,
    agent_id          text not null,
    session_id        text not null default '',
    day               date not null,
    origin            text not null check (origin in ('person', 'system', 'model', 'tool', 'document', 'job')),
    producer          text not null check (length(producer) between 1 and 80),
    text              text not null,
    why               text not null default '',
    how               text not null default '',
    evidence          jsonb not null default '{}',
    reflection_id     uuid,
    source_id         text not null check (length(source_id) between 1 and 200),
    recent_sources    text[] not null default '{}',
    times             bigint not null default 1 check (times >= 1),
    at                timestamptz not null,
    last_at           timestamptz not null,
    counted           boolean not null,
    uncounted_because text,
    primary key (space_id, id),
    foreign key (space_id, proposal_id) references proposal (space_id, id) on delete cascade,
    check (counted = (uncounted_because is null)),
    check (proposal_id is not null or not counted)
) with (fillfactor = 80);
comment on table proposal_sighting is 'who said that something should change, when and in which words; the same words of one cause are one row';
comment on column proposal_sighting.proposal_id is 'null if what was said could not be a proposal';
comment on column proposal_sighting.evidence is 'ids of episodes and turns, and what the client says of the time';
comment on column proposal_sighting.source_id is 'the event or call that made it';
comment on column proposal_sighting.recent_sources is 'what made its latest repeats, so that one that comes again is known';
comment on column proposal_sighting.times is 'times that this cause said these words';
comment on column proposal_sighting.at is 'when it was first said so, by the server''s own stamp of the evidence';
comment on column proposal_sighting.last_at is 'when it was last said so';
comment on column proposal_sighting.counted is 'whether it may be a vote; how many causes of an agent count is decided by counting';
create unique index proposal_sighting_source on proposal_sighting (space_id, producer, source_id, proposal_id);
create index proposal_sighting_cause on proposal_sighting (space_id, proposal_id, agent_id, session_id, day, origin);
create index proposal_sighting_votes on proposal_sighting (space_id, proposal_id, agent_id, day, origin, session_id)
    where counted;
create index proposal_sighting_at on proposal_sighting (space_id, at);

create table proposal_vector (
    space_id    text not null,
    proposal_id uuid not null,
    model       text not null,
    dims        integer not null check (dims > 0),
    text_hash   bytea not null,
    embedding   halfvec not null,
    at          timestamptz not null,
    primary key (space_id, proposal_id, model),
    foreign key (space_id, proposal_id) references proposal (space_id, id) on delete cascade
);
comment on table proposal_vector is 'what proposals mean, as vectors; a pass over them holds them in memory';
comment on column proposal_vector.model is 'who made it; vectors of different models are never compared';
comment on column proposal_vector.dims is 'numbers in the vector';
comment on column proposal_vector.text_hash is 'of the words that were embedded';

create table proposal_pair (
    space_id   text not null,
    id         uuid not null,
    a_id       uuid not null,
    b_id       uuid not null,
    relation   text check (relation in ('same', 'opposite')),
    similarity double precision not null,
    embedder   text not null,
    words      text not null,
    judgement  jsonb not null default '{}',
    state      text not null default 'open' check (state in ('open', 'accepted', 'declined')),
    at         timestamptz not null,
    decided_by text,
    decided_at timestamptz,
    primary key (space_id, id),
    foreign key (space_id, a_id) references proposal (space_id, id) on delete cascade,
    foreign key (space_id, b_id) references proposal (space_id, id) on delete cascade,
    check (a_id < b_id),
    check (state = 'open' or relation is not null)
);
comment on table proposal_pair is 'two proposals that were held against each other, and what a person made of that';
comment on column proposal_pair.relation is 'what is suggested; null: judged, and nothing is';
comment on column proposal_pair.similarity is 'cosine between the two';
comment on column proposal_pair.words is 'hash of both wordings: a pair is judged once for each';
create unique index proposal_pair_once on proposal_pair (space_id, a_id, b_id);
create index proposal_pair_b on proposal_pair (space_id, b_id);
create index proposal_pair_suggested on proposal_pair (space_id, at, id) where state = 'open' and relation is not null;

create table verdict (
    space_id     text not null references space (id) on delete cascade,
    id           uuid not null,
    proposal_id  uuid not null,
    kind         text not null check (kind in ('approve', 'reject', 'deepen', 'too_vague', 'duplicate', 'defer',
                     'reopen')),
    author       text not null check (length(author) between 1 and 200),
    verified     boolean not null,
    channel      text not null check (length(channel) between 1 and 40),
    channel_ref  text not null check (length(channel_ref) between 1 and 200),
    note         text not null default '',
    fields       jsonb not null default '{}',
    received_at  timestamptz not null,
    processed_at timestamptz,
    result       text,
    primary key (space_id, id),
    unique (space_id, channel, channel_ref),
    foreign key (space_id, proposal_id) references proposal (space_id, id) on delete cascade
);
comment on table verdict is 'what somebody said of a proposal; only a verified person''s word is acted on';
comment on column verdict.channel_ref is 'the call, file or message that it came with: the same one counts once';
comment on column verdict.fields is 'what else was said: edits, of, until';
comment on column verdict.result is 'what came of it; null: it was not processed yet';
create index verdict_proposal on verdict (space_id, proposal_id, received_at);
create index verdict_unprocessed on verdict (space_id, received_at) where processed_at is null;

create table proposal_effect (
    space_id    text not null,
    id          uuid not null,
    proposal_id uuid not null,
    type        text not null,
    before      jsonb not null,
    after       jsonb not null,
    changes     text[] not null default '{}',
    applied_at  timestamptz not null,
    applied_by  text not null,
    undone_at   timestamptz,
    undone_by   text,
    primary key (space_id, id),
    foreign key (space_id, proposal_id) references proposal (space_id, id) on delete cascade,
    check ((undone_at is null) = (undone_by is null))
);
comment on table proposal_effect is 'what an approval did, with what was there before, so that it can be undone';
comment on column proposal_effect.changes is 'ids of changes in the rooms that made them';
create index proposal_effect_proposal on proposal_effect (space_id, proposal_id, applied_at);
create index proposal_effect_at on proposal_effect (space_id, applied_at);

create table promotion_run (
    space_id       text not null references space (id) on delete cascade,
    id             uuid not null,
    at             timestamptz not null,
    dry_run        boolean not null default false,
    considered     integer not null check (considered >= 0),
    promoted       integer not null check (promoted >= 0),
    too_few        integer not null check (too_few >= 0),
    too_new        integer not null check (too_new >= 0),
    held           integer not null check (held >= 0),
    over_cap       integer not null check (over_cap >= 0),
    excluded       integer not null check (excluded >= 0),
    paused_because text,
    bars           jsonb not null,
    readings       jsonb not null default '[]',
    primary key (space_id, id)
);
comment on table promotion_run is 'each time that the gate looked at what waits, and what it found';
comment on column promotion_run.considered is 'proposals that were looked at';
comment on column promotion_run.promoted is 'proposals that were put before a person';
comment on column promotion_run.too_few is 'proposals that have not recurred enough';
comment on column promotion_run.too_new is 'proposals that have not lasted enough';
comment on column promotion_run.held is 'proposals that are kept back for a reason of their own';
comment on column promotion_run.over_cap is 'ripe proposals that wait for the next run';
comment on column promotion_run.excluded is 'proposals whose category is never promoted';
comment on column promotion_run.readings is 'what the gate read of the first of them, with what is missing';
create index promotion_run_at on promotion_run (space_id, at desc);

create table task (
    space_id    text not null,
    id          uuid not null,
    proposal_id uuid not null,
    title       text not null,
    body        text not null default '',
    state       text not null default 'open' check (state in ('open', 'done', 'dropped')),
    at          timestamptz not null,
    closed_at   timestamptz,
    closed_by   text,
    primary key (space_id, id),
    foreign key (space_id, proposal_id) references proposal (space_id, id) on delete cascade,
    check ((state = 'open') = (closed_at is null))
);
comment on table task is 'what somebody is to do about approved advice';
create index task_open on task (space_id, at) where state = 'open';
create index task_proposal on task (space_id, proposal_id);

create table reviewer (
    space_id   text not null references space (id) on delete cascade,
    id         uuid not null,
    name       text not null check (length(name) between 1 and 80),
    identities jsonb not null default '{}',
    codes      text[] not null default '{}',
    active     boolean not null default true,
    at         timestamptz not null,
    primary key (space_id, id),
    unique (space_id, name)
);
comment on table reviewer is 'a person whose verdict counts, and how each channel knows that person';
comment on column reviewer.identities is 'login at the console, id of a key, name of a webhook, user id of the system';
comment on column reviewer.codes is 'hashes of codes that are good for one verdict';


-- Producers whose proposals were mostly rejected are muted; a person may let one speak again.

create table producer_lift (
    space_id text not null references space (id) on delete cascade,
    producer text not null check (length(producer) between 1 and 80),
    category text not null check (length(category) between 1 and 40),
    at       timestamptz not null,
    by       text not null,
    primary key (space_id, producer, category)
);
comment on table producer_lift is 'what was decided before then no longer mutes a producer in a category';


-- The counts of words follow the outbox by themselves, many events at a time, instead of being told of each one.

create table words_heard (
    space_id text primary key references space (id) on delete cascade,
    seq      bigint not null
);
comment on table words_heard is 'how far the outbox was read for the counts of words';
comment on column words_heard.seq is 'the last event that was read; a space without a row has been read nowhere';
