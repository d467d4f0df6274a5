-- What all migrations add up to. Written by `make schema`; a test holds both together.

CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;

CREATE TABLE public.alias (
    space_id text NOT NULL,
    token text NOT NULL,
    concept_id bigint NOT NULL,
    at timestamp with time zone NOT NULL
);

COMMENT ON TABLE public.alias IS 'other spellings and names of a concept';

CREATE TABLE public.api_key (
    space_id text NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    agent_id text,
    hash bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    CONSTRAINT api_key_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT api_key_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
    CONSTRAINT api_key_role_check CHECK ((role = ANY (ARRAY['proxy'::text, 'agent'::text, 'reviewer'::text, 'admin'::text])))
);

COMMENT ON TABLE public.api_key IS 'who may call; the key itself is shown once and never stored';

COMMENT ON COLUMN public.api_key.hash IS 'SHA-256 of the whole key, prefix included';

COMMENT ON COLUMN public.api_key.last_used_at IS 'written at most once a minute';

CREATE TABLE public.cache_version (
    space_id text NOT NULL,
    room text NOT NULL,
    version bigint NOT NULL
);

COMMENT ON COLUMN public.cache_version.version IS 'count of writes; rises with each, in the transaction of the write';

CREATE TABLE public.config (
    space_id text NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    updated_by text NOT NULL
);

COMMENT ON TABLE public.config IS 'settings that people changed while Festinger ran; a row of ''*'' is for all spaces';

COMMENT ON COLUMN public.config.key IS 'full name of the setting, such as llm.write';

COMMENT ON COLUMN public.config.value IS 'the value as the environment would give it; only validated values are written';

CREATE TABLE public.cost (
    space_id text NOT NULL,
    id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    agent_id text NOT NULL,
    session_id text,
    purpose text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    tokens_in bigint,
    tokens_out bigint,
    tokens_cached bigint,
    cost_usd numeric,
    latency_ms bigint NOT NULL,
    ok boolean NOT NULL,
    prompt_hash text,
    job_id bigint,
    CONSTRAINT cost_latency_ms_check CHECK ((latency_ms >= 0)),
    CONSTRAINT cost_prompt_hash_check CHECK ((prompt_hash ~ '^[0-9a-f]{12}$'::text)),
    CONSTRAINT cost_purpose_check CHECK ((purpose = ANY (ARRAY['write'::text, 'resolve'::text, 'judge'::text, 'chat'::text, 'system2'::text])))
);

COMMENT ON TABLE public.cost IS 'one row for each call to a model, also for one that failed';

COMMENT ON COLUMN public.cost.tokens_in IS 'null if the provider did not tell';

COMMENT ON COLUMN public.cost.tokens_out IS 'tokens; null if the provider did not tell';

COMMENT ON COLUMN public.cost.tokens_cached IS 'tokens of tokens_in that the provider had kept from before';

COMMENT ON COLUMN public.cost.cost_usd IS 'null if the price is unknown; never 0 for that';

COMMENT ON COLUMN public.cost.latency_ms IS 'milliseconds from asking to the whole answer';

COMMENT ON COLUMN public.cost.ok IS 'whether it gave an answer that could be used';

CREATE TABLE public.cue_quarantine (
    space_id text NOT NULL,
    id uuid NOT NULL,
    concept text NOT NULL,
    parent text NOT NULL,
    dim text NOT NULL,
    is_isa boolean NOT NULL,
    pattern text NOT NULL,
    origin text NOT NULL,
    status text DEFAULT 'waiting'::text NOT NULL,
    first_seen timestamp with time zone NOT NULL,
    decided_at timestamp with time zone,
    CONSTRAINT cue_quarantine_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'admitted'::text, 'rejected'::text, 'expired'::text])))
);

COMMENT ON TABLE public.cue_quarantine IS 'statements of text that nobody vouches for; never shown';

CREATE TABLE public.cue_quarantine_cause (
    space_id text NOT NULL,
    quarantine_id uuid NOT NULL,
    agent text NOT NULL,
    session_id text NOT NULL,
    day date NOT NULL,
    origin text NOT NULL,
    text_hash text NOT NULL,
    message_id text,
    at timestamp with time zone NOT NULL
);

COMMENT ON COLUMN public.cue_quarantine_cause.text_hash IS 'which text held it; the same page has one vote';

CREATE TABLE public.cue_waiting (
    space_id text NOT NULL,
    message_id text NOT NULL,
    agent text NOT NULL,
    session_id text NOT NULL,
    origin text NOT NULL,
    text_hash text NOT NULL,
    cues jsonb NOT NULL,
    at timestamp with time zone NOT NULL,
    done_at timestamp with time zone
);

COMMENT ON TABLE public.cue_waiting IS 'what a message asserted, until it is written into the world; a done row keeps a repeat from counting';

CREATE SEQUENCE public.event_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.event (
    space_id text NOT NULL,
    id uuid NOT NULL,
    seq bigint DEFAULT nextval('public.event_seq'::regclass) NOT NULL,
    name text NOT NULL,
    version smallint NOT NULL,
    subject text NOT NULL,
    agent_id text,
    session_id text,
    trace_id text,
    caused_by uuid,
    payload jsonb NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT event_subject_check CHECK (((length(subject) >= 1) AND (length(subject) <= 200))),
    CONSTRAINT event_version_check CHECK ((version > 0))
);

COMMENT ON TABLE public.event IS 'what happened; written in the transaction that made it happen';

COMMENT ON COLUMN public.event.seq IS 'order of writing; taken under the lock of the subject, so it rises in commit order per subject';

COMMENT ON COLUMN public.event.version IS 'version of the payload''s shape';

COMMENT ON COLUMN public.event.subject IS 'what it happened to; events of one subject are delivered in order';

COMMENT ON COLUMN public.event.caused_by IS 'the event that led to this one';

COMMENT ON COLUMN public.event.payload IS 'ids and numbers; no text beyond 200 characters';

CREATE TABLE public.event_delivery (
    space_id text NOT NULL,
    event_id uuid NOT NULL,
    subscriber text NOT NULL,
    state text NOT NULL,
    at timestamp with time zone NOT NULL,
    state_at timestamp with time zone NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    CONSTRAINT event_delivery_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'delivered'::text, 'dead'::text, 'dropped'::text])))
);

COMMENT ON TABLE public.event_delivery IS 'who is to be told, written with the event; who was told, written with the subscriber''s own rows';

COMMENT ON COLUMN public.event_delivery.at IS 'when the event happened';

COMMENT ON COLUMN public.event_delivery.state_at IS 'when the state was reached';

COMMENT ON COLUMN public.event_delivery.note IS 'the error of a dead delivery, the reason of a dropped one';

CREATE TABLE public.held_session (
    space_id text NOT NULL,
    session_id text NOT NULL,
    collisions integer NOT NULL,
    since timestamp with time zone NOT NULL
);

COMMENT ON TABLE public.held_session IS 'sessions whose texts contradicted much that is well established; what they say is quarantined';

COMMENT ON COLUMN public.held_session.collisions IS 'contradictions within the hour that led to it';

CREATE TABLE public.job_record (
    job_id bigint NOT NULL,
    name text NOT NULL,
    done bigint,
    total bigint,
    note text DEFAULT ''::text NOT NULL,
    reported_at timestamp with time zone,
    cancel_asked_at timestamp with time zone,
    forgiven integer DEFAULT 0 NOT NULL,
    worker_deaths integer DEFAULT 0 NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    error_text text DEFAULT ''::text NOT NULL,
    first_failed_at timestamp with time zone,
    last_failed_at timestamp with time zone,
    dead_at timestamp with time zone,
    dropped_at timestamp with time zone,
    drop_note text DEFAULT ''::text NOT NULL
);

COMMENT ON TABLE public.job_record IS 'what the engine does not keep about a job: progress, errors, worker deaths';

COMMENT ON COLUMN public.job_record.done IS 'steps done; the unit is the job''s own';

COMMENT ON COLUMN public.job_record.total IS 'steps in all, if that is known';

COMMENT ON COLUMN public.job_record.forgiven IS 'attempts that do not count: interrupted, postponed, or before a retry by hand';

COMMENT ON COLUMN public.job_record.worker_deaths IS 'workers that died while they ran it, since the last retry by hand';

COMMENT ON COLUMN public.job_record.error IS 'name of the last error';

CREATE TABLE public.master_key (
    sole boolean DEFAULT true NOT NULL,
    key_id text NOT NULL,
    CONSTRAINT master_key_sole_check CHECK (sole)
);

COMMENT ON TABLE public.master_key IS 'the name of the key that secrets are sealed with; the key itself is never here';

CREATE TABLE public.models (
    space_id text NOT NULL,
    id uuid NOT NULL,
    provider text NOT NULL,
    model_name text NOT NULL,
    api_key text,
    base_url text,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT models_api_key_check CHECK ((api_key ~~ 'v1:gcm:%'::text)),
    CONSTRAINT models_model_name_check CHECK (((length(model_name) >= 1) AND (length(model_name) <= 200))),
    CONSTRAINT models_provider_check CHECK ((provider = ANY (ARRAY['claude'::text, 'openai'::text, 'ollama'::text, 'gemini'::text])))
);

COMMENT ON COLUMN public.models.api_key IS 'sealed; bound to this table, column, space and row';

COMMENT ON COLUMN public.models.base_url IS 'null means the provider''s own address';

CREATE TABLE public.periodic (
    name text NOT NULL,
    line text NOT NULL,
    since timestamp with time zone NOT NULL,
    checked_at timestamp with time zone NOT NULL,
    last_due_at timestamp with time zone,
    last_job_id bigint,
    result text DEFAULT ''::text NOT NULL,
    result_at timestamp with time zone
);

COMMENT ON TABLE public.periodic IS 'each periodic job with the cron line that was last seen in the settings';

COMMENT ON COLUMN public.periodic.since IS 'no run is due that was due up to this moment';

COMMENT ON COLUMN public.periodic.checked_at IS 'the last tick';

COMMENT ON COLUMN public.periodic.result IS 'how the last run ended';

CREATE TABLE public.periodic_run (
    name text NOT NULL,
    due_at timestamp with time zone NOT NULL,
    job_id bigint
);

COMMENT ON TABLE public.periodic_run IS 'one row for each due run; being unique, it makes many workers start it once';

CREATE TABLE public.resolution_queue (
    space_id text NOT NULL,
    id uuid NOT NULL,
    about text DEFAULT 'edge'::text NOT NULL,
    concept_id bigint,
    existing_parent_id bigint,
    incoming_parent_id bigint,
    dim_id bigint,
    collision_type text NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    old_memory uuid,
    new_memory uuid,
    judgement_id uuid,
    priority integer DEFAULT 0 NOT NULL,
    existing_is_isa boolean,
    incoming_is_isa boolean,
    incoming_confidence double precision,
    incoming_source text,
    incoming_origin text,
    sightings integer DEFAULT 1 NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    decided_by text,
    resolution jsonb,
    created_at timestamp with time zone NOT NULL,
    resolved_at timestamp with time zone,
    CONSTRAINT resolution_queue_about_check CHECK ((about = ANY (ARRAY['edge'::text, 'memory'::text]))),
    CONSTRAINT resolution_queue_check CHECK (((about = 'memory'::text) OR ((concept_id IS NOT NULL) AND (dim_id IS NOT NULL) AND (incoming_parent_id IS NOT NULL)))),
    CONSTRAINT resolution_queue_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'resolved'::text, 'dismissed'::text])))
);

COMMENT ON TABLE public.resolution_queue IS 'statements that cannot both stand, and how it was decided';

COMMENT ON COLUMN public.resolution_queue.priority IS 'higher goes first; 10 for what was stated on purpose';

COMMENT ON COLUMN public.resolution_queue.incoming_confidence IS 'from 0 to 1';

COMMENT ON COLUMN public.resolution_queue.sightings IS 'how often the incoming statement was met';

COMMENT ON COLUMN public.resolution_queue.attempts IS 'runs that could not decide it';

COMMENT ON COLUMN public.resolution_queue.reason IS 'why the last attempt could not decide';

CREATE TABLE public.resolution_run (
    space_id text NOT NULL,
    id uuid NOT NULL,
    state text NOT NULL,
    dry_run boolean NOT NULL,
    pending integer DEFAULT 0 NOT NULL,
    seen integer DEFAULT 0 NOT NULL,
    resolved integer DEFAULT 0 NOT NULL,
    dismissed integer DEFAULT 0 NOT NULL,
    waiting integer DEFAULT 0 NOT NULL,
    failed integer DEFAULT 0 NOT NULL,
    left_over integer DEFAULT 0 NOT NULL,
    cost_usd numeric,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT resolution_run_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'running'::text, 'done'::text])))
);

COMMENT ON COLUMN public.resolution_run.pending IS 'conflicts that waited at its start';

COMMENT ON COLUMN public.resolution_run.seen IS 'conflicts that it looked at';

COMMENT ON COLUMN public.resolution_run.resolved IS 'conflicts';

COMMENT ON COLUMN public.resolution_run.dismissed IS 'conflicts';

COMMENT ON COLUMN public.resolution_run.waiting IS 'conflicts that it could not decide';

COMMENT ON COLUMN public.resolution_run.failed IS 'conflicts that raised an error';

COMMENT ON COLUMN public.resolution_run.left_over IS 'conflicts beyond the limit of one run';

COMMENT ON COLUMN public.resolution_run.cost_usd IS 'what its model calls cost; null if the price of any is unknown';

CREATE TABLE public.run (
    id uuid NOT NULL,
    door text NOT NULL,
    version text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    started_at timestamp with time zone NOT NULL,
    stopped_at timestamp with time zone,
    clean boolean
);

COMMENT ON TABLE public.run IS 'one row for each process that opened the store';

COMMENT ON COLUMN public.run.pid IS 'process id on `host`';

COMMENT ON COLUMN public.run.clean IS 'null while it runs; false when it was found gone without a word';

CREATE TABLE public.session_collision (
    space_id text NOT NULL,
    session_id text NOT NULL,
    id bigint NOT NULL,
    dim_id bigint NOT NULL,
    parent text NOT NULL,
    at timestamp with time zone NOT NULL
);

COMMENT ON TABLE public.session_collision IS 'triples of nobody''s word that contradict well established edges, by session';

COMMENT ON COLUMN public.session_collision.id IS 'the concept of the triple';

CREATE TABLE public.soas (
    space_id text NOT NULL,
    id bigint NOT NULL,
    token text NOT NULL,
    encounter_count integer DEFAULT 0 NOT NULL,
    last_seen timestamp with time zone,
    saliency double precision DEFAULT 0 NOT NULL,
    novelty double precision DEFAULT 0 NOT NULL,
    trusted_seen boolean DEFAULT false NOT NULL,
    asked_at timestamp with time zone,
    wanted_at timestamp with time zone,
    CONSTRAINT soas_encounter_count_check CHECK ((encounter_count >= 0)),
    CONSTRAINT soas_token_check CHECK (((length(token) >= 1) AND (length(token) <= 200)))
);

COMMENT ON TABLE public.soas IS 'the vocabulary: concepts and dimensions alike, lower-case';

COMMENT ON COLUMN public.soas.id IS 'number of the concept, given by the database alone';

COMMENT ON COLUMN public.soas.encounter_count IS 'messages that held the token; common words are not counted';

COMMENT ON COLUMN public.soas.saliency IS 'logarithm to base 10 of encounter_count, 0 for 0 and 1';

COMMENT ON COLUMN public.soas.novelty IS '1 since the concept has its first admitted edge, else 0';

COMMENT ON COLUMN public.soas.trusted_seen IS 'whether a person or a model ever said it';

COMMENT ON COLUMN public.soas.asked_at IS 'when it was last given to the write job';

COMMENT ON COLUMN public.soas.wanted_at IS 'when the write job found nothing to write about it';

ALTER TABLE public.soas ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.soas_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.soas_sentence (
    space_id text NOT NULL,
    concept_id bigint NOT NULL,
    id bigint NOT NULL,
    text text NOT NULL,
    origin text NOT NULL,
    session_id text NOT NULL,
    message_id text,
    at timestamp with time zone NOT NULL,
    CONSTRAINT soas_sentence_origin_check CHECK ((origin = ANY (ARRAY['person'::text, 'system'::text, 'model'::text, 'tool'::text, 'document'::text, 'job'::text]))),
    CONSTRAINT soas_sentence_text_check CHECK ((length(text) <= 300))
);

COMMENT ON TABLE public.soas_sentence IS 'the last sentences in which a concept stood, without secrets';

COMMENT ON COLUMN public.soas_sentence.id IS 'rises in the order of keeping';

ALTER TABLE public.soas_sentence ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.soas_sentence_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.space (
    id text NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    settings_version bigint DEFAULT 0 NOT NULL,
    CONSTRAINT space_id_check CHECK ((id ~ '^[a-z][a-z0-9-]{0,62}$'::text)),
    CONSTRAINT space_name_check CHECK ((name ~ '^[a-z][a-z0-9-]{0,62}$'::text))
);

COMMENT ON COLUMN public.space.settings_version IS 'rises with each change of the space''s own settings';

CREATE TABLE public.urd (
    space_id text NOT NULL,
    id bigint NOT NULL,
    parent_id bigint NOT NULL,
    dim_id bigint NOT NULL,
    is_isa boolean NOT NULL,
    confidence double precision NOT NULL,
    last_confirmed timestamp with time zone,
    source text NOT NULL,
    origin text NOT NULL,
    evidence_count integer DEFAULT 0 NOT NULL,
    person_stated boolean DEFAULT false NOT NULL,
    unconfirmed boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT urd_confidence_check CHECK (((confidence >= (0)::double precision) AND (confidence <= (1)::double precision))),
    CONSTRAINT urd_evidence_count_check CHECK ((evidence_count >= 0)),
    CONSTRAINT urd_origin_check CHECK ((origin = ANY (ARRAY['person'::text, 'system'::text, 'model'::text, 'tool'::text, 'document'::text, 'job'::text]))),
    CONSTRAINT urd_source_check CHECK ((source = ANY (ARRAY['cloud_llm'::text, 'inferred'::text, 'festinger'::text, 'gutask'::text])))
);

COMMENT ON TABLE public.urd IS 'the edges: concept `id` is in `parent_id`, within dimension `dim_id`; the row with all three alike is the root of a dimension';

COMMENT ON COLUMN public.urd.id IS 'the concept that the edge is about';

COMMENT ON COLUMN public.urd.confidence IS 'how likely it is true, from 0 to 1';

COMMENT ON COLUMN public.urd.evidence_count IS 'distinct causes that said it again';

COMMENT ON COLUMN public.urd.person_stated IS 'whether a person ever said it';

COMMENT ON COLUMN public.urd.unconfirmed IS 'whether it came out of quarantine and nobody has confirmed it since';

COMMENT ON COLUMN public.urd.version IS 'version of the world at its last change';

CREATE TABLE public.urd_cause (
    space_id text NOT NULL,
    id bigint NOT NULL,
    parent_id bigint NOT NULL,
    dim_id bigint NOT NULL,
    agent text NOT NULL,
    session_id text NOT NULL,
    day date NOT NULL,
    origin text NOT NULL,
    message_id text,
    model text,
    prompt_hash text,
    cost_usd numeric,
    at timestamp with time zone NOT NULL
);

COMMENT ON TABLE public.urd_cause IS 'who said each triple, whether it stands or waits; kept when an edge gives way, so that it can come back';

COMMENT ON COLUMN public.urd_cause.id IS 'the concept of the triple';

COMMENT ON COLUMN public.urd_cause.cost_usd IS 'what the model call cost that wrote it; null if unknown or none';

CREATE TABLE public.urd_history (
    space_id text NOT NULL,
    version bigint NOT NULL,
    n integer NOT NULL,
    op text NOT NULL,
    id bigint NOT NULL,
    parent_id bigint NOT NULL,
    dim_id bigint NOT NULL,
    is_isa boolean NOT NULL,
    confidence double precision NOT NULL,
    last_confirmed timestamp with time zone,
    source text NOT NULL,
    origin text NOT NULL,
    evidence_count integer NOT NULL,
    person_stated boolean NOT NULL,
    unconfirmed boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    reason text NOT NULL,
    conflict_id uuid,
    by text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT urd_history_op_check CHECK ((op = ANY (ARRAY['add'::text, 'replace'::text, 'move'::text, 'remove'::text, 'restore'::text])))
);

COMMENT ON TABLE public.urd_history IS 'add and restore put an edge into its slot; replace, move and remove take the one that stood there out, as it was';

COMMENT ON COLUMN public.urd_history.version IS 'version of the world that the change made';

COMMENT ON COLUMN public.urd_history.n IS 'place within the version';

COMMENT ON COLUMN public.urd_history.id IS 'the concept of the edge';

COMMENT ON COLUMN public.urd_history.confidence IS 'of the edge at that moment';

COMMENT ON COLUMN public.urd_history.evidence_count IS 'of the edge at that moment';

CREATE TABLE public.urd_outcome (
    space_id text NOT NULL,
    id bigint NOT NULL,
    parent_id bigint NOT NULL,
    dim_id bigint NOT NULL,
    agent text NOT NULL,
    session_id text NOT NULL,
    day date NOT NULL,
    origin text NOT NULL,
    outcome text NOT NULL,
    is_explicit boolean NOT NULL,
    moved double precision NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT urd_outcome_outcome_check CHECK ((outcome = ANY (ARRAY['acted'::text, 'contradicted'::text])))
);

COMMENT ON TABLE public.urd_outcome IS 'what came of notes that showed an edge, once a cause';

COMMENT ON COLUMN public.urd_outcome.id IS 'the concept of the edge';

COMMENT ON COLUMN public.urd_outcome.moved IS 'by how much it moved the confidence of the edge';

CREATE TABLE public.world_log (
    space_id text NOT NULL,
    version bigint NOT NULL,
    n integer NOT NULL,
    kind text NOT NULL,
    concept_id bigint,
    dim_id bigint,
    at timestamp with time zone NOT NULL,
    CONSTRAINT world_log_kind_check CHECK ((kind = ANY (ARRAY['edge'::text, 'concept'::text, 'queue'::text, 'alias'::text, 'forgotten'::text])))
);

COMMENT ON TABLE public.world_log IS 'what each version changed, for processes that keep the world in memory; kept for a week';

COMMENT ON COLUMN public.world_log.version IS 'version of the world that the change made';

COMMENT ON COLUMN public.world_log.n IS 'place within the version';

CREATE TABLE public.world_tombstone (
    space_id text NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    by text NOT NULL,
    at timestamp with time zone NOT NULL,
    edges integer NOT NULL,
    causes integer NOT NULL,
    others integer NOT NULL
);

COMMENT ON TABLE public.world_tombstone IS 'that something of the world was forgotten, without what it was';

COMMENT ON COLUMN public.world_tombstone.edges IS 'edges erased';

COMMENT ON COLUMN public.world_tombstone.causes IS 'causes erased';

COMMENT ON COLUMN public.world_tombstone.others IS 'rows of history, quarantine, queue, names and sentences erased';

CREATE TABLE public.world_version (
    space_id text NOT NULL,
    version bigint NOT NULL
);

COMMENT ON TABLE public.world_version IS 'one row a space; who changes the world holds it, so it is also the write lock';

COMMENT ON COLUMN public.world_version.version IS 'count of changes';

ALTER TABLE ONLY public.alias
    ADD CONSTRAINT alias_pkey PRIMARY KEY (space_id, token);

ALTER TABLE ONLY public.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.cache_version
    ADD CONSTRAINT cache_version_pkey PRIMARY KEY (space_id, room);

ALTER TABLE ONLY public.config
    ADD CONSTRAINT config_pkey PRIMARY KEY (space_id, key);

ALTER TABLE ONLY public.cost
    ADD CONSTRAINT cost_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.cue_quarantine_cause
    ADD CONSTRAINT cue_quarantine_cause_pkey PRIMARY KEY (space_id, quarantine_id, agent, session_id, day, origin, text_hash);

ALTER TABLE ONLY public.cue_quarantine
    ADD CONSTRAINT cue_quarantine_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.cue_waiting
    ADD CONSTRAINT cue_waiting_pkey PRIMARY KEY (space_id, message_id);

ALTER TABLE ONLY public.event_delivery
    ADD CONSTRAINT event_delivery_pkey PRIMARY KEY (space_id, event_id, subscriber);

ALTER TABLE ONLY public.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.held_session
    ADD CONSTRAINT held_session_pkey PRIMARY KEY (space_id, session_id);

ALTER TABLE ONLY public.job_record
    ADD CONSTRAINT job_record_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.master_key
    ADD CONSTRAINT master_key_pkey PRIMARY KEY (sole);

ALTER TABLE ONLY public.models
    ADD CONSTRAINT models_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.periodic
    ADD CONSTRAINT periodic_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.periodic_run
    ADD CONSTRAINT periodic_run_pkey PRIMARY KEY (name, due_at);

ALTER TABLE ONLY public.resolution_queue
    ADD CONSTRAINT resolution_queue_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.resolution_run
    ADD CONSTRAINT resolution_run_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.run
    ADD CONSTRAINT run_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.session_collision
    ADD CONSTRAINT session_collision_pkey PRIMARY KEY (space_id, session_id, id, dim_id, parent);

ALTER TABLE ONLY public.soas
    ADD CONSTRAINT soas_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.soas_sentence
    ADD CONSTRAINT soas_sentence_pkey PRIMARY KEY (space_id, concept_id, id);

ALTER TABLE ONLY public.soas
    ADD CONSTRAINT soas_space_id_token_key UNIQUE (space_id, token);

ALTER TABLE ONLY public.space
    ADD CONSTRAINT space_name_key UNIQUE (name);

ALTER TABLE ONLY public.space
    ADD CONSTRAINT space_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.urd_cause
    ADD CONSTRAINT urd_cause_pkey PRIMARY KEY (space_id, id, parent_id, dim_id, agent, session_id, day, origin);

ALTER TABLE ONLY public.urd_history
    ADD CONSTRAINT urd_history_pkey PRIMARY KEY (space_id, version, n);

ALTER TABLE ONLY public.urd_outcome
    ADD CONSTRAINT urd_outcome_pkey PRIMARY KEY (space_id, id, parent_id, dim_id, agent, session_id, day, origin, outcome, is_explicit);

ALTER TABLE ONLY public.urd
    ADD CONSTRAINT urd_pkey PRIMARY KEY (space_id, id, parent_id, dim_id);

ALTER TABLE ONLY public.world_log
    ADD CONSTRAINT world_log_pkey PRIMARY KEY (space_id, version, n);

ALTER TABLE ONLY public.world_tombstone
    ADD CONSTRAINT world_tombstone_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.world_version
    ADD CONSTRAINT world_version_pkey PRIMARY KEY (space_id);

CREATE INDEX api_key_hash ON public.api_key USING btree (hash);

CREATE UNIQUE INDEX api_key_name ON public.api_key USING btree (space_id, name) WHERE (revoked_at IS NULL);

CREATE INDEX cost_at ON public.cost USING btree (at, purpose);

CREATE INDEX cost_session ON public.cost USING btree (space_id, session_id) WHERE (session_id IS NOT NULL);

CREATE INDEX cue_quarantine_cause_session ON public.cue_quarantine_cause USING btree (space_id, session_id);

CREATE UNIQUE INDEX cue_quarantine_triple ON public.cue_quarantine USING btree (space_id, concept, parent, dim, is_isa);

CREATE INDEX cue_waiting_done ON public.cue_waiting USING btree (space_id, done_at) WHERE (done_at IS NOT NULL);

CREATE INDEX event_age ON public.event USING btree (at);

CREATE INDEX event_delivery_dead ON public.event_delivery USING btree (subscriber, at) WHERE (state = 'dead'::text);

CREATE INDEX event_delivery_waiting ON public.event_delivery USING btree (subscriber, at) WHERE (state = 'waiting'::text);

CREATE INDEX event_order ON public.event USING btree (space_id, seq);

CREATE INDEX event_trace ON public.event USING btree (space_id, trace_id, seq) WHERE (trace_id IS NOT NULL);

CREATE INDEX job_record_dead ON public.job_record USING btree (dead_at) WHERE ((dead_at IS NOT NULL) AND (dropped_at IS NULL));

CREATE UNIQUE INDEX resolution_queue_once ON public.resolution_queue USING btree (space_id, concept_id, dim_id, incoming_parent_id) WHERE ((status = 'pending'::text) AND (about = 'edge'::text));

CREATE INDEX resolution_queue_order ON public.resolution_queue USING btree (space_id, status, priority DESC, created_at);

CREATE UNIQUE INDEX resolution_queue_pair ON public.resolution_queue USING btree (space_id, old_memory, new_memory) WHERE ((status = 'pending'::text) AND (about = 'memory'::text));

CREATE UNIQUE INDEX resolution_run_one ON public.resolution_run USING btree (space_id) WHERE (state <> 'done'::text);

CREATE INDEX run_unfinished ON public.run USING btree (host) WHERE (clean IS NULL);

CREATE INDEX soas_sentence_session ON public.soas_sentence USING btree (space_id, session_id);

CREATE INDEX soas_unconfirmed ON public.soas USING btree (space_id, last_seen) WHERE (novelty = (0)::double precision);

CREATE INDEX soas_wanted ON public.soas USING btree (space_id, wanted_at) WHERE (wanted_at IS NOT NULL);

CREATE INDEX urd_cause_message ON public.urd_cause USING btree (space_id, message_id) WHERE (message_id IS NOT NULL);

CREATE INDEX urd_cause_session ON public.urd_cause USING btree (space_id, session_id);

CREATE INDEX urd_dim ON public.urd USING btree (space_id, dim_id);

CREATE INDEX urd_history_at ON public.urd_history USING btree (space_id, at);

CREATE INDEX urd_history_concept ON public.urd_history USING btree (space_id, id, version);

CREATE INDEX urd_outcome_session ON public.urd_outcome USING btree (space_id, session_id);

CREATE INDEX urd_parent ON public.urd USING btree (space_id, parent_id);

CREATE UNIQUE INDEX urd_slot ON public.urd USING btree (space_id, id, dim_id);

CREATE INDEX world_log_at ON public.world_log USING btree (space_id, at);

ALTER TABLE ONLY public.alias
    ADD CONSTRAINT alias_space_id_concept_id_fkey FOREIGN KEY (space_id, concept_id) REFERENCES public.soas(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.cost
    ADD CONSTRAINT cost_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.cue_quarantine_cause
    ADD CONSTRAINT cue_quarantine_cause_space_id_quarantine_id_fkey FOREIGN KEY (space_id, quarantine_id) REFERENCES public.cue_quarantine(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.cue_quarantine
    ADD CONSTRAINT cue_quarantine_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.cue_waiting
    ADD CONSTRAINT cue_waiting_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.event_delivery
    ADD CONSTRAINT event_delivery_space_id_event_id_fkey FOREIGN KEY (space_id, event_id) REFERENCES public.event(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.held_session
    ADD CONSTRAINT held_session_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.models
    ADD CONSTRAINT models_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.resolution_queue
    ADD CONSTRAINT resolution_queue_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.resolution_run
    ADD CONSTRAINT resolution_run_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.session_collision
    ADD CONSTRAINT session_collision_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.soas_sentence
    ADD CONSTRAINT soas_sentence_space_id_concept_id_fkey FOREIGN KEY (space_id, concept_id) REFERENCES public.soas(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.soas
    ADD CONSTRAINT soas_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.urd_cause
    ADD CONSTRAINT urd_cause_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.urd_history
    ADD CONSTRAINT urd_history_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.urd_outcome
    ADD CONSTRAINT urd_outcome_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.urd
    ADD CONSTRAINT urd_space_id_dim_id_fkey FOREIGN KEY (space_id, dim_id) REFERENCES public.soas(space_id, id);

ALTER TABLE ONLY public.urd
    ADD CONSTRAINT urd_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.urd
    ADD CONSTRAINT urd_space_id_id_fkey FOREIGN KEY (space_id, id) REFERENCES public.soas(space_id, id);

ALTER TABLE ONLY public.urd
    ADD CONSTRAINT urd_space_id_parent_id_fkey FOREIGN KEY (space_id, parent_id) REFERENCES public.soas(space_id, id);

ALTER TABLE ONLY public.world_log
    ADD CONSTRAINT world_log_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.world_tombstone
    ADD CONSTRAINT world_tombstone_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.world_version
    ADD CONSTRAINT world_version_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;
