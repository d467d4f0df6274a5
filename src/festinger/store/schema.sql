-- What all migrations add up to. Written by `make schema`; a test holds both together.

CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;

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

CREATE TABLE public.space (
    id text NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    settings_version bigint DEFAULT 0 NOT NULL,
    CONSTRAINT space_id_check CHECK ((id ~ '^[a-z][a-z0-9-]{0,62}$'::text)),
    CONSTRAINT space_name_check CHECK ((name ~ '^[a-z][a-z0-9-]{0,62}$'::text))
);

COMMENT ON COLUMN public.space.settings_version IS 'rises with each change of the space''s own settings';

ALTER TABLE ONLY public.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.cache_version
    ADD CONSTRAINT cache_version_pkey PRIMARY KEY (space_id, room);

ALTER TABLE ONLY public.config
    ADD CONSTRAINT config_pkey PRIMARY KEY (space_id, key);

ALTER TABLE ONLY public.cost
    ADD CONSTRAINT cost_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.event_delivery
    ADD CONSTRAINT event_delivery_pkey PRIMARY KEY (space_id, event_id, subscriber);

ALTER TABLE ONLY public.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (space_id, id);

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

ALTER TABLE ONLY public.run
    ADD CONSTRAINT run_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.space
    ADD CONSTRAINT space_name_key UNIQUE (name);

ALTER TABLE ONLY public.space
    ADD CONSTRAINT space_pkey PRIMARY KEY (id);

CREATE INDEX api_key_hash ON public.api_key USING btree (hash);

CREATE UNIQUE INDEX api_key_name ON public.api_key USING btree (space_id, name) WHERE (revoked_at IS NULL);

CREATE INDEX cost_at ON public.cost USING btree (at, purpose);

CREATE INDEX cost_session ON public.cost USING btree (space_id, session_id) WHERE (session_id IS NOT NULL);

CREATE INDEX event_age ON public.event USING btree (at);

CREATE INDEX event_delivery_dead ON public.event_delivery USING btree (subscriber, at) WHERE (state = 'dead'::text);

CREATE INDEX event_delivery_waiting ON public.event_delivery USING btree (subscriber, at) WHERE (state = 'waiting'::text);

CREATE INDEX event_order ON public.event USING btree (space_id, seq);

CREATE INDEX event_trace ON public.event USING btree (space_id, trace_id, seq) WHERE (trace_id IS NOT NULL);

CREATE INDEX job_record_dead ON public.job_record USING btree (dead_at) WHERE ((dead_at IS NOT NULL) AND (dropped_at IS NULL));

CREATE INDEX run_unfinished ON public.run USING btree (host) WHERE (clean IS NULL);

ALTER TABLE ONLY public.cost
    ADD CONSTRAINT cost_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.event_delivery
    ADD CONSTRAINT event_delivery_space_id_event_id_fkey FOREIGN KEY (space_id, event_id) REFERENCES public.event(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.models
    ADD CONSTRAINT models_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;
