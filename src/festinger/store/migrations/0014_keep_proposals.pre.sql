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
