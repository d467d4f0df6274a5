-- What all migrations add up to. Written by `make schema`; a test holds both together.

CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;

CREATE FUNCTION public.tag_words(language regconfig, tags text[]) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ select to_tsvector(language, coalesce(string_agg(tag, ' '), '')) from unnest(tags) as tag where tag !~ ':' $$;

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

CREATE TABLE public.blend (
    space_id text NOT NULL,
    agent_id text NOT NULL,
    shifts double precision[] DEFAULT '{0,0,0,0,0}'::double precision[] NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    CONSTRAINT blend_shifts_check CHECK ((cardinality(shifts) = 5)),
    CONSTRAINT blend_version_check CHECK ((version >= 1))
);

COMMENT ON TABLE public.blend IS 'how far outcomes have moved the weights by which the mind of an agent blends';

COMMENT ON COLUMN public.blend.shifts IS 'of meaning, company, chance, feeling and freshness';

COMMENT ON COLUMN public.blend.version IS 'rises with each change';

CREATE TABLE public.blend_history (
    space_id text NOT NULL,
    id uuid NOT NULL,
    agent_id text NOT NULL,
    before double precision[] NOT NULL,
    after double precision[] NOT NULL,
    outcomes integer NOT NULL,
    at timestamp with time zone NOT NULL,
    undone_at timestamp with time zone,
    CONSTRAINT blend_history_outcomes_check CHECK ((outcomes >= 0))
);

COMMENT ON TABLE public.blend_history IS 'each time that outcomes moved a blend';

COMMENT ON COLUMN public.blend_history.outcomes IS 'outcomes that moved it';

CREATE TABLE public.cache_version (
    space_id text NOT NULL,
    room text NOT NULL,
    version bigint NOT NULL
);

COMMENT ON COLUMN public.cache_version.version IS 'count of writes; rises with each, in the transaction of the write';

CREATE TABLE public.censor (
    space_id text NOT NULL,
    id uuid NOT NULL,
    seq bigint NOT NULL,
    agent_id text,
    reason text DEFAULT ''::text NOT NULL,
    pattern text,
    meaning text,
    domain text,
    applies_to text[] NOT NULL,
    action text DEFAULT 'warn'::text NOT NULL,
    origin text NOT NULL,
    activation_count integer DEFAULT 0 NOT NULL,
    false_positive_count integer DEFAULT 0 NOT NULL,
    escalation_threshold integer DEFAULT 5 NOT NULL,
    last_triggered timestamp with time zone,
    active boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    CONSTRAINT censor_action_check CHECK ((action = ANY (ARRAY['warn'::text, 'block'::text]))),
    CONSTRAINT censor_activation_count_check CHECK ((activation_count >= 0)),
    CONSTRAINT censor_applies_to_check CHECK (((applies_to <@ ARRAY['input'::text, 'output'::text, 'tool'::text, 'learn'::text]) AND (cardinality(applies_to) > 0))),
    CONSTRAINT censor_check CHECK (((pattern IS NOT NULL) OR (meaning IS NOT NULL))),
    CONSTRAINT censor_escalation_threshold_check CHECK ((escalation_threshold >= 1)),
    CONSTRAINT censor_false_positive_count_check CHECK ((false_positive_count >= 0)),
    CONSTRAINT censor_origin_check CHECK ((origin = ANY (ARRAY['person'::text, 'system'::text, 'model'::text, 'tool'::text, 'document'::text, 'job'::text]))),
    CONSTRAINT censor_version_check CHECK ((version >= 1))
);

COMMENT ON TABLE public.censor IS 'a rule about what must not be said';

COMMENT ON COLUMN public.censor.seq IS 'rises in the order in which censors were made';

COMMENT ON COLUMN public.censor.agent_id IS 'whom it guards; null: everybody in the space';

COMMENT ON COLUMN public.censor.activation_count IS 'times that it struck';

COMMENT ON COLUMN public.censor.false_positive_count IS 'times that it struck and should not have';

COMMENT ON COLUMN public.censor.escalation_threshold IS 'strikes from which a warning should become a stop';

COMMENT ON COLUMN public.censor.version IS 'rises with each change';

CREATE TABLE public.censor_change (
    space_id text NOT NULL,
    id uuid NOT NULL,
    censor_id uuid NOT NULL,
    op text NOT NULL,
    before jsonb NOT NULL,
    after jsonb NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    by text NOT NULL,
    at timestamp with time zone NOT NULL,
    undone_at timestamp with time zone,
    undone_by text,
    CONSTRAINT censor_change_op_check CHECK ((op = ANY (ARRAY['add'::text, 'update'::text, 'escalate'::text, 'demote'::text, 'deactivate'::text, 'activate'::text])))
);

COMMENT ON TABLE public.censor_change IS 'what was done to censors, with what was there before, so that it can be undone';

ALTER TABLE public.censor ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.censor_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.censor_trigger (
    space_id text NOT NULL,
    id uuid NOT NULL,
    seq bigint NOT NULL,
    censor_id uuid NOT NULL,
    agent_id text NOT NULL,
    session_id text DEFAULT ''::text NOT NULL,
    day date NOT NULL,
    origin text NOT NULL,
    place text NOT NULL,
    matched_by text NOT NULL,
    similarity double precision,
    excerpt text NOT NULL,
    was_blocked boolean NOT NULL,
    false_positive boolean DEFAULT false NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT censor_trigger_excerpt_check CHECK ((length(excerpt) <= 200)),
    CONSTRAINT censor_trigger_matched_by_check CHECK ((matched_by = ANY (ARRAY['pattern'::text, 'meaning'::text]))),
    CONSTRAINT censor_trigger_origin_check CHECK ((origin = ANY (ARRAY['person'::text, 'system'::text, 'model'::text, 'tool'::text, 'document'::text, 'job'::text]))),
    CONSTRAINT censor_trigger_place_check CHECK ((place = ANY (ARRAY['input'::text, 'output'::text, 'tool'::text, 'learn'::text])))
);

COMMENT ON TABLE public.censor_trigger IS 'each time that a censor struck';

COMMENT ON COLUMN public.censor_trigger.seq IS 'rises in the order in which censors struck';

COMMENT ON COLUMN public.censor_trigger.similarity IS 'cosine between the text and the meaning';

ALTER TABLE public.censor_trigger ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.censor_trigger_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.censor_vector (
    space_id text NOT NULL,
    censor_id uuid NOT NULL,
    model text NOT NULL,
    dims integer NOT NULL,
    text_hash bytea NOT NULL,
    embedding public.halfvec NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT censor_vector_dims_check CHECK ((dims > 0))
);

COMMENT ON TABLE public.censor_vector IS 'what censors mean, as vectors; so few that each process holds them in memory';

COMMENT ON COLUMN public.censor_vector.model IS 'who made it; vectors of different models are never compared';

COMMENT ON COLUMN public.censor_vector.dims IS 'numbers in the vector';

COMMENT ON COLUMN public.censor_vector.text_hash IS 'of the meaning that was embedded';

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

CREATE TABLE public.console_session (
    space_id text NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    key_id uuid,
    link_hash bytea,
    link_until timestamp with time zone,
    hash bytea,
    made_at timestamp with time zone NOT NULL,
    opened_at timestamp with time zone,
    seen_at timestamp with time zone,
    ended_at timestamp with time zone,
    CONSTRAINT console_session_check CHECK (((opened_at IS NULL) = (hash IS NULL))),
    CONSTRAINT console_session_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT console_session_link_hash_check CHECK ((octet_length(link_hash) = 32)),
    CONSTRAINT console_session_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
    CONSTRAINT console_session_role_check CHECK ((role = ANY (ARRAY['agent'::text, 'reviewer'::text, 'admin'::text])))
);

COMMENT ON TABLE public.console_session IS 'who is logged in to the console; neither link nor cookie is stored, only their hashes';

COMMENT ON COLUMN public.console_session.name IS 'who decides, as it stands on each decision';

COMMENT ON COLUMN public.console_session.key_id IS 'the key that it was opened with; a session ends with its key';

COMMENT ON COLUMN public.console_session.link_hash IS 'SHA-256 of the one-time link';

COMMENT ON COLUMN public.console_session.hash IS 'SHA-256 of the cookie; null until it is opened';

COMMENT ON COLUMN public.console_session.seen_at IS 'written at most once a minute';

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

CREATE TABLE public.cue_outcome (
    space_id text NOT NULL,
    id uuid NOT NULL,
    agent_id text NOT NULL,
    memory_id uuid NOT NULL,
    model text,
    cue_hash bytea NOT NULL,
    cue_vector public.halfvec,
    cause text NOT NULL,
    reward double precision NOT NULL,
    weight double precision NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT cue_outcome_reward_check CHECK (((reward >= ('-1'::integer)::double precision) AND (reward <= (1)::double precision))),
    CONSTRAINT cue_outcome_weight_check CHECK ((weight >= (0)::double precision))
);

COMMENT ON TABLE public.cue_outcome IS 'what became of a memory that was brought to mind for a question';

COMMENT ON COLUMN public.cue_outcome.reward IS 'from -1 for what misled to 1 for what was acted on';

COMMENT ON COLUMN public.cue_outcome.weight IS 'what the outcome weighs';

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

CREATE TABLE public.cycle (
    space_id text NOT NULL,
    memory_id uuid NOT NULL,
    n integer NOT NULL,
    period_s double precision NOT NULL,
    amplitude double precision NOT NULL,
    phase_s double precision DEFAULT 0.0 NOT NULL,
    declared_amplitude double precision NOT NULL,
    declared_at timestamp with time zone NOT NULL,
    CONSTRAINT cycle_n_check CHECK ((n >= 0)),
    CONSTRAINT cycle_period_s_check CHECK ((period_s > (0)::double precision))
);

COMMENT ON TABLE public.cycle IS 'what comes round: a memory is stronger at its time';

COMMENT ON COLUMN public.cycle.n IS 'place among the cycles of its memory';

COMMENT ON COLUMN public.cycle.period_s IS 'seconds from one time to the next';

COMMENT ON COLUMN public.cycle.amplitude IS 'as outcomes have moved it since it was declared';

COMMENT ON COLUMN public.cycle.phase_s IS 'seconds since the epoch at which it is strongest';

COMMENT ON COLUMN public.cycle.declared_amplitude IS 'as somebody declared it';

CREATE TABLE public.episode (
    space_id text NOT NULL,
    id uuid NOT NULL,
    seq bigint NOT NULL,
    agent_id text NOT NULL,
    session_id text NOT NULL,
    title text,
    summary text,
    outcome text,
    topics text[] DEFAULT '{}'::text[] NOT NULL,
    state text DEFAULT 'open'::text NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    last_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    closed_by text,
    summarised_at timestamp with time zone,
    summarised_by text,
    skipped text,
    prompt_hash text,
    lessons jsonb DEFAULT '[]'::jsonb NOT NULL,
    facts_at timestamp with time zone,
    memory_id uuid,
    continues uuid,
    turns integer DEFAULT 0 NOT NULL,
    raw_cut_at timestamp with time zone,
    evaluation boolean DEFAULT false NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    CONSTRAINT episode_check CHECK (((state = 'open'::text) = (closed_at IS NULL))),
    CONSTRAINT episode_check1 CHECK (((state <> 'summarised'::text) OR ((title IS NOT NULL) AND (summary IS NOT NULL) AND (summarised_at IS NOT NULL)))),
    CONSTRAINT episode_closed_by_check CHECK ((closed_by = ANY (ARRAY['caller'::text, 'idle'::text, 'turns'::text, 'hours'::text, 'shutdown'::text]))),
    CONSTRAINT episode_outcome_check CHECK ((outcome = ANY (ARRAY['resolved'::text, 'partial'::text, 'unresolved'::text, 'informational'::text, 'ongoing'::text]))),
    CONSTRAINT episode_state_check CHECK ((state = ANY (ARRAY['open'::text, 'closed'::text, 'summarised'::text]))),
    CONSTRAINT episode_turns_check CHECK ((turns >= 0)),
    CONSTRAINT episode_version_check CHECK ((version >= 1))
);

COMMENT ON TABLE public.episode IS 'a stretch of a session: what it was about, and what came of it';

COMMENT ON COLUMN public.episode.seq IS 'rises in the order in which episodes were opened';

COMMENT ON COLUMN public.episode.summarised_by IS 'caller, transcript, extract, or the model that wrote the summary';

COMMENT ON COLUMN public.episode.skipped IS 'why nothing was summarised and nothing learnt';

COMMENT ON COLUMN public.episode.lessons IS 'what is to be learnt from it, as it was read, before each is learnt';

COMMENT ON COLUMN public.episode.facts_at IS 'when all of it had been learnt';

COMMENT ON COLUMN public.episode.turns IS 'turns that were said in it, cut ones included';

COMMENT ON COLUMN public.episode.raw_cut_at IS 'when the words of its turns were cut, because they had been kept long enough';

COMMENT ON COLUMN public.episode.evaluation IS 'whether it is a trial that teaches nothing';

COMMENT ON COLUMN public.episode.version IS 'rises with each change of what is said about it';

CREATE TABLE public.episode_link (
    space_id text NOT NULL,
    episode_id uuid NOT NULL,
    target text NOT NULL,
    target_id uuid NOT NULL,
    relation text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT episode_link_relation_check CHECK ((relation = ANY (ARRAY['learnt'::text, 'decided'::text, 'superseded'::text]))),
    CONSTRAINT episode_link_target_check CHECK ((target = ANY (ARRAY['memory'::text, 'change'::text, 'conflict'::text, 'verdict'::text])))
);

COMMENT ON TABLE public.episode_link IS 'what was learnt, decided and replaced in an episode';

ALTER TABLE public.episode ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.episode_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.episode_turn (
    space_id text NOT NULL,
    episode_id uuid NOT NULL,
    seq integer NOT NULL,
    turn_id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    role text NOT NULL,
    origin text NOT NULL,
    content text NOT NULL,
    surfaced uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    remaining text,
    CONSTRAINT episode_turn_origin_check CHECK ((origin = ANY (ARRAY['person'::text, 'system'::text, 'model'::text, 'tool'::text, 'document'::text, 'job'::text]))),
    CONSTRAINT episode_turn_role_check CHECK ((role = ANY (ARRAY['system'::text, 'user'::text, 'assistant'::text, 'tool'::text, 'thought'::text]))),
    CONSTRAINT episode_turn_seq_check CHECK ((seq >= 1))
);

COMMENT ON TABLE public.episode_turn IS 'what was said, without secrets and without our own notes';

COMMENT ON COLUMN public.episode_turn.seq IS 'place within the episode';

COMMENT ON COLUMN public.episode_turn.surfaced IS 'memories that were brought to mind with it';

COMMENT ON COLUMN public.episode_turn.remaining IS 'what it is summed up by, without what was taken back; none while that is all of it';

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

CREATE TABLE public.exchange (
    space_id text NOT NULL,
    id uuid NOT NULL,
    session_id text NOT NULL,
    agent_id text NOT NULL,
    request_id text NOT NULL,
    at timestamp with time zone NOT NULL,
    reply_id uuid,
    tool_calls jsonb NOT NULL,
    thinking text,
    ended text NOT NULL,
    model text NOT NULL,
    tokens_read bigint,
    tokens_written bigint,
    recollection_id uuid,
    CONSTRAINT exchange_ended_check CHECK ((ended = ANY (ARRAY['whole'::text, 'abrupt'::text, 'error'::text, 'client'::text, 'cut'::text])))
);

COMMENT ON TABLE public.exchange IS 'a request and its answer, as far as it came, once each';

COMMENT ON COLUMN public.exchange.id IS 'made of session, history and reply: the same exchange has the same id';

COMMENT ON COLUMN public.exchange.reply_id IS 'the message that the model answered with; none if it only called tools';

COMMENT ON COLUMN public.exchange.tool_calls IS 'name and arguments of each call, without secrets';

COMMENT ON COLUMN public.exchange.thinking IS 'what the model thought, if that is to be kept';

COMMENT ON COLUMN public.exchange.tokens_read IS 'tokens of the prompt, as the upstream counted';

COMMENT ON COLUMN public.exchange.tokens_written IS 'tokens of the answer, as the upstream counted';

COMMENT ON COLUMN public.exchange.recollection_id IS 'the block that was new in it';

CREATE TABLE public.exchange_message (
    space_id text NOT NULL,
    id uuid NOT NULL,
    exchange_id uuid NOT NULL,
    session_id text NOT NULL,
    seq integer NOT NULL,
    role text NOT NULL,
    origin text NOT NULL,
    text text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT exchange_message_origin_check CHECK ((origin = ANY (ARRAY['person'::text, 'system'::text, 'model'::text, 'tool'::text, 'document'::text, 'job'::text]))),
    CONSTRAINT exchange_message_role_check CHECK ((role = ANY (ARRAY['system'::text, 'user'::text, 'assistant'::text, 'tool'::text]))),
    CONSTRAINT exchange_message_seq_check CHECK ((seq >= 0))
);

COMMENT ON TABLE public.exchange_message IS 'what was said, without secrets and without our notes; each once a session';

COMMENT ON COLUMN public.exchange_message.seq IS 'place within what its exchange brought';

CREATE TABLE public.forgotten_mark (
    space_id text NOT NULL,
    mark text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT forgotten_mark_mark_check CHECK ((length(mark) = 64))
);

COMMENT ON TABLE public.forgotten_mark IS 'keyed hashes of forgotten words; the key is kept outside of the database';

CREATE TABLE public.held_session (
    space_id text NOT NULL,
    session_id text NOT NULL,
    collisions integer NOT NULL,
    since timestamp with time zone NOT NULL
);

COMMENT ON TABLE public.held_session IS 'sessions whose texts contradicted much that is well established; what they say is quarantined';

COMMENT ON COLUMN public.held_session.collisions IS 'contradictions within the hour that led to it';

CREATE TABLE public.identifier_part (
    space_id text NOT NULL,
    part text NOT NULL,
    type text NOT NULL,
    ref uuid NOT NULL,
    CONSTRAINT identifier_part_type_check CHECK ((type = ANY (ARRAY['memory'::text, 'turn'::text])))
);

COMMENT ON TABLE public.identifier_part IS 'pieces of numbers, paths and addresses that the index of words keeps whole';

CREATE TABLE public.injection (
    space_id text NOT NULL,
    session_id text NOT NULL,
    caller text NOT NULL,
    anchor bytea NOT NULL,
    id uuid NOT NULL,
    block text NOT NULL,
    notes jsonb NOT NULL,
    at timestamp with time zone NOT NULL
);

COMMENT ON TABLE public.injection IS 'the notes that were put into a session, where and in which words';

COMMENT ON COLUMN public.injection.anchor IS 'hash of the history up to the message that carries the block; empty for the system text';

COMMENT ON COLUMN public.injection.id IS 'the recollection';

COMMENT ON COLUMN public.injection.notes IS 'for each line of the block the notes that it shows: kind, id and version';

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

CREATE TABLE public.judgement (
    space_id text NOT NULL,
    id uuid NOT NULL,
    old_ref uuid NOT NULL,
    new_ref uuid NOT NULL,
    old_hash bytea NOT NULL,
    new_hash bytea NOT NULL,
    relation text NOT NULL,
    current text NOT NULL,
    confidence double precision NOT NULL,
    judge text NOT NULL,
    reasoning text NOT NULL,
    guards text[] DEFAULT '{}'::text[] NOT NULL,
    prompt_hash text,
    final boolean NOT NULL,
    attempts integer DEFAULT 1 NOT NULL,
    next_try timestamp with time zone,
    latency_ms double precision NOT NULL,
    at timestamp with time zone NOT NULL,
    overruled_by uuid,
    CONSTRAINT judgement_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT judgement_confidence_check CHECK (((confidence >= (0)::double precision) AND (confidence <= (1)::double precision))),
    CONSTRAINT judgement_current_check CHECK ((current = ANY (ARRAY['new'::text, 'old'::text, 'both'::text]))),
    CONSTRAINT judgement_judge_check CHECK (((length(judge) >= 1) AND (length(judge) <= 200))),
    CONSTRAINT judgement_latency_ms_check CHECK ((latency_ms >= (0)::double precision)),
    CONSTRAINT judgement_new_hash_check CHECK ((length(new_hash) = 16)),
    CONSTRAINT judgement_old_hash_check CHECK ((length(old_hash) = 16)),
    CONSTRAINT judgement_relation_check CHECK ((relation = ANY (ARRAY['same'::text, 'update'::text, 'contradicts'::text, 'refines'::text, 'unrelated'::text, 'unsure'::text])))
);

COMMENT ON TABLE public.judgement IS 'what judges said of two statements; a row that is not final waits and is tried again';

COMMENT ON COLUMN public.judgement.old_ref IS 'the statement that stood, by its id where it is kept';

COMMENT ON COLUMN public.judgement.old_hash IS 'of the folded text, so that the same words are not judged twice';

COMMENT ON COLUMN public.judgement.current IS 'which of the two holds now';

COMMENT ON COLUMN public.judgement.confidence IS 'how sure the judge is, from 0 to 1';

COMMENT ON COLUMN public.judgement.judge IS 'rules@version, onnx:model, llm:provider:model or person:name';

COMMENT ON COLUMN public.judgement.guards IS 'what keeps the two from being the same';

COMMENT ON COLUMN public.judgement.attempts IS 'tries by the judge that is named; a new judge begins anew';

COMMENT ON COLUMN public.judgement.next_try IS 'when it is tried again; null if only a new judge or a person can tell';

COMMENT ON COLUMN public.judgement.latency_ms IS 'milliseconds that judging took';

COMMENT ON COLUMN public.judgement.overruled_by IS 'the judgement of a person that took its place';

CREATE TABLE public.learn_key (
    space_id text NOT NULL,
    agent_id text NOT NULL,
    key text NOT NULL,
    body_hash bytea NOT NULL,
    result jsonb NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT learn_key_key_check CHECK (((length(key) >= 1) AND (length(key) <= 200)))
);

COMMENT ON TABLE public.learn_key IS 'what a call with an idempotency key did, kept for a day';

CREATE TABLE public.master_key (
    sole boolean DEFAULT true NOT NULL,
    key_id text NOT NULL,
    CONSTRAINT master_key_sole_check CHECK (sole)
);

COMMENT ON TABLE public.master_key IS 'the name of the key that secrets are sealed with; the key itself is never here';

CREATE TABLE public.memory (
    space_id text NOT NULL,
    id uuid NOT NULL,
    seq bigint NOT NULL,
    agent_id text,
    kind text DEFAULT 'fact'::text NOT NULL,
    content text NOT NULL,
    content_contextualized text,
    compressed text,
    language regconfig DEFAULT 'english'::regconfig NOT NULL,
    content_tsv tsvector GENERATED ALWAYS AS (to_tsvector(language, COALESCE(content_contextualized, content))) STORED,
    subject text,
    subject_key text,
    attribute_key text,
    value_key text,
    fold bytea NOT NULL,
    gist bytea NOT NULL,
    origin text NOT NULL,
    trust real NOT NULL,
    source text,
    source_tag text DEFAULT 'external_user'::text NOT NULL,
    source_confidence real DEFAULT 1.0 NOT NULL,
    session_id text,
    episode_id uuid,
    turn_id uuid,
    status text DEFAULT 'active'::text NOT NULL,
    pending boolean DEFAULT false NOT NULL,
    superseded_by uuid,
    superseded_at timestamp with time zone,
    valid_from timestamp with time zone,
    valid_to timestamp with time zone,
    immutable boolean DEFAULT false NOT NULL,
    confidence double precision DEFAULT 0.5 NOT NULL,
    evidence_count integer DEFAULT 0 NOT NULL,
    corroborations integer DEFAULT 0 NOT NULL,
    contradictions integer DEFAULT 0 NOT NULL,
    passive_count integer DEFAULT 0 NOT NULL,
    confidence_anchor double precision,
    confidence_ceiling double precision,
    weight_ceiling double precision,
    confirmation_count integer DEFAULT 0 NOT NULL,
    last_confirmed timestamp with time zone,
    cause_count integer DEFAULT 1 NOT NULL,
    weight_alpha double precision DEFAULT 1.0 NOT NULL,
    weight_beta double precision DEFAULT 4.0 NOT NULL,
    access_count integer DEFAULT 0 NOT NULL,
    last_accessed timestamp with time zone,
    access_times timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL,
    utility_score double precision DEFAULT 0.0 NOT NULL,
    event_time timestamp with time zone,
    event_day date GENERATED ALWAYS AS (((event_time AT TIME ZONE 'UTC'::text))::date) STORED,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    tags_tsv tsvector GENERATED ALWAYS AS (public.tag_words(language, tags)) STORED,
    CONSTRAINT memory_access_count_check CHECK ((access_count >= 0)),
    CONSTRAINT memory_cause_count_check CHECK ((cause_count >= 0)),
    CONSTRAINT memory_check CHECK (((superseded_by IS NOT NULL) = (status = ANY (ARRAY['superseded'::text, 'merged'::text])))),
    CONSTRAINT memory_confidence_check CHECK (((confidence >= (0)::double precision) AND (confidence <= (1)::double precision))),
    CONSTRAINT memory_confirmation_count_check CHECK ((confirmation_count >= 0)),
    CONSTRAINT memory_content_check CHECK (((length(content) >= 1) AND (length(content) <= 8000))),
    CONSTRAINT memory_contradictions_check CHECK ((contradictions >= 0)),
    CONSTRAINT memory_corroborations_check CHECK ((corroborations >= 0)),
    CONSTRAINT memory_evidence_count_check CHECK ((evidence_count >= 0)),
    CONSTRAINT memory_fold_check CHECK ((length(fold) = 16)),
    CONSTRAINT memory_gist_check CHECK ((length(gist) = 16)),
    CONSTRAINT memory_kind_check CHECK ((kind = ANY (ARRAY['fact'::text, 'episodic'::text, 'procedural'::text, 'preference'::text, 'reflection'::text, 'correction'::text, 'insight'::text, 'narrative'::text, 'tension'::text]))),
    CONSTRAINT memory_origin_check CHECK ((origin = ANY (ARRAY['person'::text, 'system'::text, 'model'::text, 'tool'::text, 'document'::text, 'job'::text]))),
    CONSTRAINT memory_passive_count_check CHECK ((passive_count >= 0)),
    CONSTRAINT memory_source_confidence_check CHECK (((source_confidence >= (0)::double precision) AND (source_confidence <= (1)::double precision))),
    CONSTRAINT memory_source_tag_check CHECK ((source_tag = ANY (ARRAY['external_user'::text, 'external_document'::text, 'tool'::text, 'internal_dmn'::text, 'internal_consolidation'::text, 'internal_gut'::text, 'scheduled'::text]))),
    CONSTRAINT memory_status_check CHECK ((status = ANY (ARRAY['active'::text, 'held'::text, 'quarantined'::text, 'superseded'::text, 'merged'::text, 'archived'::text]))),
    CONSTRAINT memory_trust_check CHECK (((trust >= (0)::double precision) AND (trust <= (1)::double precision))),
    CONSTRAINT memory_version_check CHECK ((version >= 1)),
    CONSTRAINT memory_weight_alpha_check CHECK ((weight_alpha > (0)::double precision)),
    CONSTRAINT memory_weight_beta_check CHECK ((weight_beta > (0)::double precision))
)
WITH (fillfactor='75');

COMMENT ON TABLE public.memory IS 'one statement a row, in whatever state; nothing leaves but by being forgotten';

COMMENT ON COLUMN public.memory.seq IS 'rises in the order in which the memories of one owner were stored';

COMMENT ON COLUMN public.memory.agent_id IS 'its owner; null: shared by the space';

COMMENT ON COLUMN public.memory.fold IS 'of the words as they are compared';

COMMENT ON COLUMN public.memory.gist IS 'of the words that carry meaning, in their order';

COMMENT ON COLUMN public.memory.trust IS 'from 0 to 1, of whoever said it; of something derived the lowest of its sources';

COMMENT ON COLUMN public.memory.source_confidence IS 'from 0 to 1, how sure the source called itself';

COMMENT ON COLUMN public.memory.pending IS 'whether a judgement about it is still open';

COMMENT ON COLUMN public.memory.confidence IS 'from 0 to 1, how likely it is true';

COMMENT ON COLUMN public.memory.evidence_count IS 'signals that moved the confidence';

COMMENT ON COLUMN public.memory.corroborations IS 'signals of at least one half';

COMMENT ON COLUMN public.memory.contradictions IS 'signals below one half';

COMMENT ON COLUMN public.memory.passive_count IS 'signals that nobody gave on purpose';

COMMENT ON COLUMN public.memory.confidence_anchor IS 'confidence after the last signal that somebody gave on purpose';

COMMENT ON COLUMN public.memory.confidence_ceiling IS 'confidence that only a person or an explicit outcome may lift it above';

COMMENT ON COLUMN public.memory.weight_ceiling IS 'center that only a person or an explicit outcome may lift it above';

COMMENT ON COLUMN public.memory.confirmation_count IS 'times that it was said again, by whomever';

COMMENT ON COLUMN public.memory.cause_count IS 'distinct counted causes: the only count that is evidence';

COMMENT ON COLUMN public.memory.weight_alpha IS 'alpha of the Beta distribution of its weight';

COMMENT ON COLUMN public.memory.weight_beta IS 'beta of the Beta distribution of its weight';

COMMENT ON COLUMN public.memory.access_count IS 'confirmed reads';

COMMENT ON COLUMN public.memory.utility_score IS 'how useful it proved, for promotion';

COMMENT ON COLUMN public.memory.event_time IS 'when it happened, not when it was said';

COMMENT ON COLUMN public.memory.version IS 'rises with each change of what it says or of its state';

COMMENT ON COLUMN public.memory.tags_tsv IS 'words of its tags but for labels like `domain:code`';

CREATE TABLE public.memory_change (
    space_id text NOT NULL,
    id uuid NOT NULL,
    op text NOT NULL,
    memory_ids uuid[] NOT NULL,
    before jsonb DEFAULT '{}'::jsonb NOT NULL,
    after jsonb DEFAULT '{}'::jsonb NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    by text NOT NULL,
    cause jsonb,
    judgement_id uuid,
    at timestamp with time zone NOT NULL,
    undone_at timestamp with time zone,
    undone_by text,
    CONSTRAINT memory_change_op_check CHECK ((op = ANY (ARRAY['confirm'::text, 'merge'::text, 'split'::text, 'supersede'::text, 'restore'::text, 'archive'::text, 'edit'::text, 'quarantine'::text, 'release'::text, 'weight'::text, 'repair'::text])))
);

COMMENT ON TABLE public.memory_change IS 'what was done to memories, with what was there before, so that it can be undone';

CREATE TABLE public.memory_co_access (
    space_id text NOT NULL,
    memory_id_a uuid NOT NULL,
    memory_id_b uuid NOT NULL,
    co_access_count integer DEFAULT 0 NOT NULL,
    temporal_count integer DEFAULT 0 NOT NULL,
    last_co_accessed timestamp with time zone NOT NULL,
    last_cause text NOT NULL,
    CONSTRAINT memory_co_access_check CHECK ((memory_id_a < memory_id_b)),
    CONSTRAINT memory_co_access_co_access_count_check CHECK ((co_access_count >= 0)),
    CONSTRAINT memory_co_access_temporal_count_check CHECK ((temporal_count >= 0))
);

COMMENT ON TABLE public.memory_co_access IS 'memories that came to mind together';

COMMENT ON COLUMN public.memory_co_access.co_access_count IS 'causes in which one recall gave both';

COMMENT ON COLUMN public.memory_co_access.temporal_count IS 'causes in which one recall followed the other';

CREATE TABLE public.memory_link (
    space_id text NOT NULL,
    from_id uuid NOT NULL,
    to_id uuid NOT NULL,
    relation text NOT NULL,
    weight double precision DEFAULT 1.0 NOT NULL,
    judgement_id uuid,
    at timestamp with time zone NOT NULL,
    undone_at timestamp with time zone,
    CONSTRAINT memory_link_relation_check CHECK ((relation = ANY (ARRAY['derives_from'::text, 'supersedes'::text, 'refines'::text, 'contradicts'::text, 'same_as'::text, 'about'::text])))
);

COMMENT ON TABLE public.memory_link IS 'how memories relate; what something derives from may also be a turn that was said';

COMMENT ON COLUMN public.memory_link.weight IS 'from 0 to 1';

ALTER TABLE public.memory ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.memory_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.memory_sighting (
    space_id text NOT NULL,
    id uuid NOT NULL,
    memory_id uuid NOT NULL,
    agent_id text NOT NULL,
    session_id text DEFAULT ''::text NOT NULL,
    day date NOT NULL,
    origin text NOT NULL,
    trust real NOT NULL,
    wording text NOT NULL,
    source text,
    episode_id uuid,
    turn_id uuid,
    similarity double precision,
    judgement_id uuid,
    at timestamp with time zone NOT NULL,
    counted boolean NOT NULL,
    uncounted_because text,
    moved_by uuid,
    told jsonb,
    CONSTRAINT memory_sighting_origin_check CHECK ((origin = ANY (ARRAY['person'::text, 'system'::text, 'model'::text, 'tool'::text, 'document'::text, 'job'::text]))),
    CONSTRAINT memory_sighting_trust_check CHECK (((trust >= (0)::double precision) AND (trust <= (1)::double precision)))
);

COMMENT ON TABLE public.memory_sighting IS 'each time a memory was said; the first one has the id of its memory';

COMMENT ON COLUMN public.memory_sighting.trust IS 'from 0 to 1, of whoever said it';

COMMENT ON COLUMN public.memory_sighting.similarity IS 'cosine between this wording and the memory';

COMMENT ON COLUMN public.memory_sighting.counted IS 'whether it brought a new cause';

COMMENT ON COLUMN public.memory_sighting.moved_by IS 'the merge that brought it here from a twin';

COMMENT ON COLUMN public.memory_sighting.told IS 'subject, time and tags that came with it; none where that was not kept yet';

CREATE TABLE public.memory_vector (
    space_id text NOT NULL,
    memory_id uuid NOT NULL,
    model text NOT NULL,
    purpose text NOT NULL,
    dims integer NOT NULL,
    text_hash bytea NOT NULL,
    embedding public.halfvec NOT NULL,
    at timestamp with time zone NOT NULL,
    is_bare boolean DEFAULT false NOT NULL,
    CONSTRAINT memory_vector_dims_check CHECK ((dims > 0)),
    CONSTRAINT memory_vector_purpose_check CHECK ((purpose = ANY (ARRAY['store'::text, 'query'::text, 'compare'::text, 'cluster'::text])))
);

COMMENT ON TABLE public.memory_vector IS 'vectors beside their memories, which change too often to carry an index of vectors';

COMMENT ON COLUMN public.memory_vector.model IS 'who made it; vectors of different models are never compared';

COMMENT ON COLUMN public.memory_vector.dims IS 'numbers in the vector';

COMMENT ON COLUMN public.memory_vector.text_hash IS 'of the text that was embedded';

COMMENT ON COLUMN public.memory_vector.is_bare IS 'of purpose `store`: a model reads these words alike for comparing, so there is no vector beside it';

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

CREATE TABLE public.outcome (
    space_id text NOT NULL,
    id uuid NOT NULL,
    batch_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    turn_id uuid,
    recall_id uuid,
    agent_id text NOT NULL,
    session_id text DEFAULT ''::text NOT NULL,
    day date NOT NULL,
    origin text NOT NULL,
    outcome text NOT NULL,
    how text NOT NULL,
    reporter text NOT NULL,
    q double precision NOT NULL,
    w double precision NOT NULL,
    credit double precision NOT NULL,
    signal double precision,
    second_signal double precision,
    evidence_cap integer NOT NULL,
    passive_span double precision NOT NULL,
    confidence_before double precision NOT NULL,
    confidence_after double precision NOT NULL,
    alpha_before double precision NOT NULL,
    beta_before double precision NOT NULL,
    alpha_gain double precision NOT NULL,
    beta_gain double precision NOT NULL,
    center_after double precision NOT NULL,
    cycle_factor double precision NOT NULL,
    prediction_error double precision,
    evidence jsonb DEFAULT '{}'::jsonb NOT NULL,
    counted boolean NOT NULL,
    uncounted_because text,
    replaced_by uuid,
    at timestamp with time zone NOT NULL,
    CONSTRAINT outcome_how_check CHECK ((how = ANY (ARRAY['explicit'::text, 'self'::text, 'inferred'::text, 'expired'::text]))),
    CONSTRAINT outcome_origin_check CHECK ((origin = ANY (ARRAY['person'::text, 'system'::text, 'model'::text, 'tool'::text, 'document'::text, 'job'::text]))),
    CONSTRAINT outcome_outcome_check CHECK ((outcome = ANY (ARRAY['acted'::text, 'used'::text, 'dismissed'::text, 'deferred'::text, 'contradicted'::text])))
);

COMMENT ON TABLE public.outcome IS 'what was done with a memory, and all that is needed to compute its effect again';

COMMENT ON COLUMN public.outcome.batch_id IS 'the report that it came with';

COMMENT ON COLUMN public.outcome.q IS 'from 0 to 1, how sure whoever told was';

COMMENT ON COLUMN public.outcome.w IS 'what it weighs: 1 if somebody told it on purpose';

COMMENT ON COLUMN public.outcome.credit IS 'its share in the gain of one reply';

COMMENT ON COLUMN public.outcome.signal IS 'from 0, false, to 1, true; none if it says nothing of that';

COMMENT ON COLUMN public.outcome.second_signal IS 'of a prediction that was far off';

COMMENT ON COLUMN public.outcome.evidence_cap IS 'signals after which each further one moves confidence alike';

COMMENT ON COLUMN public.outcome.passive_span IS 'how far it may move confidence if nobody told it on purpose';

COMMENT ON COLUMN public.outcome.confidence_before IS 'from 0 to 1';

COMMENT ON COLUMN public.outcome.confidence_after IS 'from 0 to 1';

COMMENT ON COLUMN public.outcome.alpha_before IS 'alpha of the weight before';

COMMENT ON COLUMN public.outcome.beta_before IS 'beta of the weight before';

COMMENT ON COLUMN public.outcome.alpha_gain IS 'what spoke for its weight, before that was divided by what was known';

COMMENT ON COLUMN public.outcome.beta_gain IS 'what spoke against its weight';

COMMENT ON COLUMN public.outcome.center_after IS 'center of its weight afterwards';

COMMENT ON COLUMN public.outcome.cycle_factor IS 'what it multiplied the cycles by';

COMMENT ON COLUMN public.outcome.prediction_error IS 'from 0 to 1, of the prediction that it ended';

COMMENT ON COLUMN public.outcome.counted IS 'whether it moved anything';

COMMENT ON COLUMN public.outcome.replaced_by IS 'the outcome of the same turn that stands in its place';

CREATE TABLE public.outcome_batch (
    space_id text NOT NULL,
    id uuid CONSTRAINT outcome_batch_id_not_null1 NOT NULL,
    key text NOT NULL,
    body_hash bytea NOT NULL,
    result jsonb NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT outcome_batch_key_check CHECK (((length(key) >= 1) AND (length(key) <= 400)))
);

COMMENT ON TABLE public.outcome_batch IS 'what a report with an idempotency key did, kept for a day';

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

CREATE TABLE public.prediction (
    space_id text NOT NULL,
    memory_id uuid NOT NULL,
    predicted jsonb NOT NULL,
    actual jsonb,
    recorded_at timestamp with time zone NOT NULL,
    resolved boolean DEFAULT false NOT NULL,
    resolution_mode text,
    prediction_error double precision,
    resolved_at timestamp with time zone,
    CONSTRAINT prediction_resolution_mode_check CHECK ((resolution_mode = ANY (ARRAY['explicit'::text, 'observed'::text])))
);

COMMENT ON TABLE public.prediction IS 'what a memory was expected to lead to, and how far that was wrong';

COMMENT ON COLUMN public.prediction.prediction_error IS 'from 0, as expected, to 1, wholly wrong';

CREATE TABLE public.producer_lift (
    space_id text NOT NULL,
    producer text NOT NULL,
    category text NOT NULL,
    at timestamp with time zone NOT NULL,
    by text NOT NULL,
    CONSTRAINT producer_lift_category_check CHECK (((length(category) >= 1) AND (length(category) <= 40))),
    CONSTRAINT producer_lift_producer_check CHECK (((length(producer) >= 1) AND (length(producer) <= 80)))
);

COMMENT ON TABLE public.producer_lift IS 'what was decided before then no longer mutes a producer in a category';

CREATE TABLE public.promotion_run (
    space_id text NOT NULL,
    id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    dry_run boolean DEFAULT false NOT NULL,
    considered integer NOT NULL,
    promoted integer NOT NULL,
    too_few integer NOT NULL,
    too_new integer NOT NULL,
    held integer NOT NULL,
    over_cap integer NOT NULL,
    excluded integer NOT NULL,
    paused_because text,
    bars jsonb NOT NULL,
    readings jsonb DEFAULT '[]'::jsonb NOT NULL,
    CONSTRAINT promotion_run_considered_check CHECK ((considered >= 0)),
    CONSTRAINT promotion_run_excluded_check CHECK ((excluded >= 0)),
    CONSTRAINT promotion_run_held_check CHECK ((held >= 0)),
    CONSTRAINT promotion_run_over_cap_check CHECK ((over_cap >= 0)),
    CONSTRAINT promotion_run_promoted_check CHECK ((promoted >= 0)),
    CONSTRAINT promotion_run_too_few_check CHECK ((too_few >= 0)),
    CONSTRAINT promotion_run_too_new_check CHECK ((too_new >= 0))
);

COMMENT ON TABLE public.promotion_run IS 'each time that the gate looked at what waits, and what it found';

COMMENT ON COLUMN public.promotion_run.considered IS 'proposals that were looked at';

COMMENT ON COLUMN public.promotion_run.promoted IS 'proposals that were put before a person';

COMMENT ON COLUMN public.promotion_run.too_few IS 'proposals that have not recurred enough';

COMMENT ON COLUMN public.promotion_run.too_new IS 'proposals that have not lasted enough';

COMMENT ON COLUMN public.promotion_run.held IS 'proposals that are kept back for a reason of their own';

COMMENT ON COLUMN public.promotion_run.over_cap IS 'ripe proposals that wait for the next run';

COMMENT ON COLUMN public.promotion_run.excluded IS 'proposals whose category is never promoted';

COMMENT ON COLUMN public.promotion_run.readings IS 'what the gate read of the first of them, with what is missing';

CREATE TABLE public.proposal (
    space_id text NOT NULL,
    id uuid NOT NULL,
    fingerprint text NOT NULL,
    profile text NOT NULL,
    normalised text NOT NULL,
    category text NOT NULL,
    scope text NOT NULL,
    type text NOT NULL,
    what text NOT NULL,
    why text DEFAULT ''::text NOT NULL,
    how text DEFAULT ''::text NOT NULL,
    payload jsonb DEFAULT '{}'::jsonb NOT NULL,
    target jsonb DEFAULT '{}'::jsonb NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL,
    held text,
    seen_count integer DEFAULT 0 NOT NULL,
    days_seen integer DEFAULT 0 NOT NULL,
    sightings bigint DEFAULT 0 NOT NULL,
    first_seen timestamp with time zone,
    last_seen timestamp with time zone,
    counted_since timestamp with time zone,
    evaluated_at timestamp with time zone,
    promoted_at timestamp with time zone,
    priority text DEFAULT 'low'::text NOT NULL,
    producer text NOT NULL,
    suppressed_until timestamp with time zone,
    deferred_until timestamp with time zone,
    seen_after integer DEFAULT 0 NOT NULL,
    decided_at timestamp with time zone,
    rejections integer DEFAULT 0 NOT NULL,
    reevaluations integer DEFAULT 0 NOT NULL,
    duplicate_of uuid,
    created_at timestamp with time zone NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    CONSTRAINT proposal_category_check CHECK (((length(category) >= 1) AND (length(category) <= 40))),
    CONSTRAINT proposal_check CHECK (((state = 'duplicate'::text) = (duplicate_of IS NOT NULL))),
    CONSTRAINT proposal_check1 CHECK ((duplicate_of <> id)),
    CONSTRAINT proposal_days_seen_check CHECK ((days_seen >= 0)),
    CONSTRAINT proposal_held_check CHECK ((held = ANY (ARRAY['like_rejected'::text, 'producer_muted'::text]))),
    CONSTRAINT proposal_how_check CHECK ((length(how) <= 4000)),
    CONSTRAINT proposal_priority_check CHECK ((priority = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text]))),
    CONSTRAINT proposal_producer_check CHECK (((length(producer) >= 1) AND (length(producer) <= 80))),
    CONSTRAINT proposal_profile_check CHECK ((profile = ANY (ARRAY['festinger'::text, 'compat-course'::text, 'compat-agent'::text]))),
    CONSTRAINT proposal_reevaluations_check CHECK ((reevaluations >= 0)),
    CONSTRAINT proposal_rejections_check CHECK ((rejections >= 0)),
    CONSTRAINT proposal_scope_check CHECK (((length(scope) >= 1) AND (length(scope) <= 40))),
    CONSTRAINT proposal_seen_after_check CHECK ((seen_after >= 0)),
    CONSTRAINT proposal_seen_count_check CHECK ((seen_count >= 0)),
    CONSTRAINT proposal_sightings_check CHECK ((sightings >= 0)),
    CONSTRAINT proposal_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'promoted'::text, 'approved'::text, 'applied'::text, 'undone'::text, 'rejected'::text, 'deepening'::text, 'deferred'::text, 'duplicate'::text]))),
    CONSTRAINT proposal_type_check CHECK ((type = ANY (ARRAY['memory_change'::text, 'identity_promotion'::text, 'censor_rule'::text, 'censor_escalation'::text, 'dimension_decomposition'::text, 'settings_change'::text, 'forget_request'::text, 'advice'::text]))),
    CONSTRAINT proposal_version_check CHECK ((version >= 1)),
    CONSTRAINT proposal_what_check CHECK ((length(what) <= 500)),
    CONSTRAINT proposal_why_check CHECK ((length(why) <= 4000))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.proposal IS 'a suggested change, which waits until it has recurred and lasted, and then for a person';

COMMENT ON COLUMN public.proposal.fingerprint IS 'of category, scope and normalised words; the space is not part of it';

COMMENT ON COLUMN public.proposal.profile IS 'how the words were normalised';

COMMENT ON COLUMN public.proposal.what IS 'as it was first worded; empty once it was forgotten';

COMMENT ON COLUMN public.proposal.target IS 'ids and versions that it would touch';

COMMENT ON COLUMN public.proposal.held IS 'why it is kept from being promoted; null: it is not';

COMMENT ON COLUMN public.proposal.seen_count IS 'distinct causes that count, since counted_since';

COMMENT ON COLUMN public.proposal.days_seen IS 'distinct days among the sightings that count';

COMMENT ON COLUMN public.proposal.sightings IS 'times that it was said, whether that counted or not';

COMMENT ON COLUMN public.proposal.first_seen IS 'earliest sighting that counts';

COMMENT ON COLUMN public.proposal.counted_since IS 'sightings from then on count, which may lie ahead; null: all of them';

COMMENT ON COLUMN public.proposal.evaluated_at IS 'latest moment at which its age was read, so that a clock that goes back makes nothing younger';

COMMENT ON COLUMN public.proposal.suppressed_until IS 'how long a rejection silences it, or how long it is held';

COMMENT ON COLUMN public.proposal.seen_after IS 'distinct causes since it was decided in favour';

COMMENT ON COLUMN public.proposal.decided_at IS 'when a person decided it last';

COMMENT ON COLUMN public.proposal.rejections IS 'times that a person said no';

COMMENT ON COLUMN public.proposal.reevaluations IS 'times that it was thought about again';

COMMENT ON COLUMN public.proposal.duplicate_of IS 'the proposal that says the same and stands for both';

COMMENT ON COLUMN public.proposal.version IS 'rises with each change that a person should see before deciding';

CREATE TABLE public.proposal_effect (
    space_id text NOT NULL,
    id uuid NOT NULL,
    proposal_id uuid NOT NULL,
    type text NOT NULL,
    before jsonb NOT NULL,
    after jsonb NOT NULL,
    changes text[] DEFAULT '{}'::text[] NOT NULL,
    applied_at timestamp with time zone NOT NULL,
    applied_by text NOT NULL,
    undone_at timestamp with time zone,
    undone_by text,
    CONSTRAINT proposal_effect_check CHECK (((undone_at IS NULL) = (undone_by IS NULL)))
);

COMMENT ON TABLE public.proposal_effect IS 'what an approval did, with what was there before, so that it can be undone';

COMMENT ON COLUMN public.proposal_effect.changes IS 'ids of changes in the rooms that made them';

CREATE TABLE public.proposal_pair (
    space_id text NOT NULL,
    id uuid NOT NULL,
    a_id uuid NOT NULL,
    b_id uuid NOT NULL,
    relation text,
    similarity double precision NOT NULL,
    embedder text NOT NULL,
    words text NOT NULL,
    judgement jsonb DEFAULT '{}'::jsonb NOT NULL,
    state text DEFAULT 'open'::text NOT NULL,
    at timestamp with time zone NOT NULL,
    decided_by text,
    decided_at timestamp with time zone,
    CONSTRAINT proposal_pair_check CHECK ((a_id < b_id)),
    CONSTRAINT proposal_pair_check1 CHECK (((state = 'open'::text) OR (relation IS NOT NULL))),
    CONSTRAINT proposal_pair_relation_check CHECK ((relation = ANY (ARRAY['same'::text, 'opposite'::text]))),
    CONSTRAINT proposal_pair_state_check CHECK ((state = ANY (ARRAY['open'::text, 'accepted'::text, 'declined'::text])))
);

COMMENT ON TABLE public.proposal_pair IS 'two proposals that were held against each other, and what a person made of that';

COMMENT ON COLUMN public.proposal_pair.relation IS 'what is suggested; null: judged, and nothing is';

COMMENT ON COLUMN public.proposal_pair.similarity IS 'cosine between the two';

COMMENT ON COLUMN public.proposal_pair.words IS 'hash of both wordings: a pair is judged once for each';

CREATE TABLE public.proposal_sighting (
    space_id text NOT NULL,
    id uuid NOT NULL,
    proposal_id uuid,
    agent_id text NOT NULL,
    session_id text DEFAULT ''::text NOT NULL,
    day date NOT NULL,
    origin text NOT NULL,
    producer text NOT NULL,
    text text NOT NULL,
    why text DEFAULT ''::text NOT NULL,
    how text DEFAULT ''::text NOT NULL,
    evidence jsonb DEFAULT '{}'::jsonb NOT NULL,
    reflection_id uuid,
    source_id text NOT NULL,
    recent_sources text[] DEFAULT '{}'::text[] NOT NULL,
    times bigint DEFAULT 1 NOT NULL,
    at timestamp with time zone NOT NULL,
    last_at timestamp with time zone NOT NULL,
    counted boolean NOT NULL,
    uncounted_because text,
    CONSTRAINT proposal_sighting_check CHECK ((counted = (uncounted_because IS NULL))),
    CONSTRAINT proposal_sighting_check1 CHECK (((proposal_id IS NOT NULL) OR (NOT counted))),
    CONSTRAINT proposal_sighting_origin_check CHECK ((origin = ANY (ARRAY['person'::text, 'system'::text, 'model'::text, 'tool'::text, 'document'::text, 'job'::text]))),
    CONSTRAINT proposal_sighting_producer_check CHECK (((length(producer) >= 1) AND (length(producer) <= 80))),
    CONSTRAINT proposal_sighting_source_id_check CHECK (((length(source_id) >= 1) AND (length(source_id) <= 200))),
    CONSTRAINT proposal_sighting_times_check CHECK ((times >= 1))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.proposal_sighting IS 'who said that something should change, when and in which words; the same words of one cause are one row';

COMMENT ON COLUMN public.proposal_sighting.proposal_id IS 'null if what was said could not be a proposal';

COMMENT ON COLUMN public.proposal_sighting.evidence IS 'ids of episodes and turns, and what the client says of the time';

COMMENT ON COLUMN public.proposal_sighting.source_id IS 'the event or call that made it';

COMMENT ON COLUMN public.proposal_sighting.recent_sources IS 'what made its latest repeats, so that one that comes again is known';

COMMENT ON COLUMN public.proposal_sighting.times IS 'times that this cause said these words';

COMMENT ON COLUMN public.proposal_sighting.at IS 'when it was first said so, by the server''s own stamp of the evidence';

COMMENT ON COLUMN public.proposal_sighting.last_at IS 'when it was last said so';

COMMENT ON COLUMN public.proposal_sighting.counted IS 'whether it may be a vote; how many causes of an agent count is decided by counting';

CREATE TABLE public.proposal_vector (
    space_id text NOT NULL,
    proposal_id uuid NOT NULL,
    model text NOT NULL,
    dims integer NOT NULL,
    text_hash bytea NOT NULL,
    embedding public.halfvec NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT proposal_vector_dims_check CHECK ((dims > 0))
);

COMMENT ON TABLE public.proposal_vector IS 'what proposals mean, as vectors; a pass over them holds them in memory';

COMMENT ON COLUMN public.proposal_vector.model IS 'who made it; vectors of different models are never compared';

COMMENT ON COLUMN public.proposal_vector.dims IS 'numbers in the vector';

COMMENT ON COLUMN public.proposal_vector.text_hash IS 'of the words that were embedded';

CREATE TABLE public.proxy_session (
    space_id text NOT NULL,
    caller text NOT NULL,
    session_id text NOT NULL,
    head bytea,
    links bytea NOT NULL,
    recent bytea NOT NULL,
    parent_id text,
    at timestamp with time zone NOT NULL
);

COMMENT ON TABLE public.proxy_session IS 'how a session is known again: hashes of its history, no words';

COMMENT ON COLUMN public.proxy_session.caller IS 'key and agent; sessions of different callers never meet';

COMMENT ON COLUMN public.proxy_session.head IS 'hash of the history up to the first message of the user';

COMMENT ON COLUMN public.proxy_session.links IS 'hash of the history up to each message, one after the other';

COMMENT ON COLUMN public.proxy_session.recent IS 'hashes of what the model and its tools said lately';

CREATE TABLE public.recall (
    space_id text NOT NULL,
    id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    agent_id text NOT NULL,
    session_id text DEFAULT ''::text NOT NULL,
    turn_id uuid,
    door text DEFAULT ''::text NOT NULL,
    cue text NOT NULL,
    cue_hash bytea NOT NULL,
    filters jsonb DEFAULT '{}'::jsonb NOT NULL,
    blend text DEFAULT 'steady'::text NOT NULL,
    seed bigint DEFAULT 0 NOT NULL,
    settings_hash text NOT NULL,
    embedder text DEFAULT ''::text NOT NULL,
    as_of timestamp with time zone,
    abstained boolean NOT NULL,
    below integer NOT NULL,
    degraded text[] DEFAULT '{}'::text[] NOT NULL,
    took_ms double precision NOT NULL,
    CONSTRAINT recall_below_check CHECK ((below >= 0)),
    CONSTRAINT recall_blend_check CHECK ((blend = ANY (ARRAY['steady'::text, 'mind'::text])))
);

COMMENT ON TABLE public.recall IS 'what was asked of the memory, without secrets, and how it went';

COMMENT ON COLUMN public.recall.seed IS 'what chance began with';

COMMENT ON COLUMN public.recall.below IS 'what was found and not good enough';

COMMENT ON COLUMN public.recall.took_ms IS 'milliseconds until the answer';

CREATE TABLE public.recall_hit (
    space_id text NOT NULL,
    recall_id uuid NOT NULL,
    "position" integer NOT NULL,
    type text NOT NULL,
    ref uuid NOT NULL,
    score double precision NOT NULL,
    evidence double precision NOT NULL,
    why jsonb NOT NULL,
    shown boolean NOT NULL,
    dropped_because text,
    CONSTRAINT recall_hit_position_check CHECK (("position" >= 1)),
    CONSTRAINT recall_hit_type_check CHECK ((type = ANY (ARRAY['memory'::text, 'turn'::text])))
);

COMMENT ON TABLE public.recall_hit IS 'what a recall gave, and the next ten that it did not';

COMMENT ON COLUMN public.recall_hit."position" IS 'place in the order, from 1';

COMMENT ON COLUMN public.recall_hit.score IS 'what the order goes by';

COMMENT ON COLUMN public.recall_hit.evidence IS 'from 0 to 1, how sure it is that it is relevant at all';

CREATE TABLE public.refusal (
    space_id text NOT NULL,
    id uuid NOT NULL,
    reason text NOT NULL,
    detail text DEFAULT ''::text NOT NULL,
    text text NOT NULL,
    agent_id text NOT NULL,
    session_id text DEFAULT ''::text NOT NULL,
    day date NOT NULL,
    origin text NOT NULL,
    at timestamp with time zone NOT NULL,
    learnt_id uuid,
    CONSTRAINT refusal_origin_check CHECK ((origin = ANY (ARRAY['person'::text, 'system'::text, 'model'::text, 'tool'::text, 'document'::text, 'job'::text]))),
    CONSTRAINT refusal_text_check CHECK ((length(text) <= 2000))
);

COMMENT ON TABLE public.refusal IS 'statements that were not learnt, without their secrets, and why';

CREATE TABLE public.request_log (
    space_id text NOT NULL,
    id text NOT NULL,
    at timestamp with time zone NOT NULL,
    agent_id text NOT NULL,
    session_id text,
    route text NOT NULL,
    model text DEFAULT ''::text NOT NULL,
    status integer,
    memory text DEFAULT ''::text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    ended text,
    before_ms double precision DEFAULT 0 NOT NULL,
    after_ms double precision DEFAULT 0 NOT NULL,
    details jsonb DEFAULT '{}'::jsonb NOT NULL
);

COMMENT ON TABLE public.request_log IS 'what happened to each request on a route that memory serves';

COMMENT ON COLUMN public.request_log.id IS 'as the answer''s header told it; the latest request of that id';

COMMENT ON COLUMN public.request_log.status IS 'HTTP status that the client was sent; none if it left before';

COMMENT ON COLUMN public.request_log.memory IS 'what memory did for it';

COMMENT ON COLUMN public.request_log.before_ms IS 'milliseconds from its first byte until it was sent on';

COMMENT ON COLUMN public.request_log.after_ms IS 'milliseconds from the upstream''s first byte until the client was written to';

COMMENT ON COLUMN public.request_log.details IS 'session, notes, loop, tokens and, if so set, words';

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

CREATE TABLE public.reviewer (
    space_id text NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    identities jsonb DEFAULT '{}'::jsonb NOT NULL,
    codes text[] DEFAULT '{}'::text[] NOT NULL,
    active boolean DEFAULT true NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT reviewer_name_check CHECK (((length(name) >= 1) AND (length(name) <= 80)))
);

COMMENT ON TABLE public.reviewer IS 'a person whose verdict counts, and how each channel knows that person';

COMMENT ON COLUMN public.reviewer.identities IS 'login at the console, id of a key, name of a webhook, user id of the system';

COMMENT ON COLUMN public.reviewer.codes IS 'hashes of codes that are good for one verdict';

CREATE TABLE public.rhythm (
    space_id text NOT NULL,
    memory_id uuid NOT NULL,
    decay_rate double precision,
    base_score double precision DEFAULT 1.0 NOT NULL,
    last_touched timestamp with time zone,
    pressure_rate double precision DEFAULT 0.0 NOT NULL,
    pressure_declared_at timestamp with time zone,
    pressure_resolved_at timestamp with time zone
);

COMMENT ON TABLE public.rhythm IS 'how the strength of a memory moves with time; no row: as the settings say, since it was made';

COMMENT ON COLUMN public.rhythm.decay_rate IS 'none: as the settings say';

COMMENT ON COLUMN public.rhythm.base_score IS 'what decays, one day after it was touched';

COMMENT ON COLUMN public.rhythm.last_touched IS 'when it was last acted on; none: never, so its making counts';

COMMENT ON COLUMN public.rhythm.pressure_rate IS 'how much more it presses each day that it is left alone';

CREATE TABLE public.run (
    id uuid NOT NULL,
    door text NOT NULL,
    version text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    started_at timestamp with time zone NOT NULL,
    stopped_at timestamp with time zone,
    clean boolean,
    pins text[] DEFAULT '{}'::text[] NOT NULL
);

COMMENT ON TABLE public.run IS 'one row for each process that opened the store';

COMMENT ON COLUMN public.run.pid IS 'process id on `host`';

COMMENT ON COLUMN public.run.clean IS 'null while it runs; false when it was found gone without a word';

COMMENT ON COLUMN public.run.pins IS 'names of the settings that the table cannot change for it';

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

CREATE TABLE public.staged_read (
    space_id text NOT NULL,
    id uuid NOT NULL,
    memory_id uuid NOT NULL,
    partition text NOT NULL,
    at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE public.staged_read IS 'reads that count once the memory was used';

CREATE TABLE public.surfacing (
    space_id text NOT NULL,
    id uuid NOT NULL,
    memory_id uuid NOT NULL,
    partition text NOT NULL,
    agent_id text NOT NULL,
    session_id text DEFAULT ''::text NOT NULL,
    turn_id uuid,
    recall_id uuid,
    door text DEFAULT ''::text NOT NULL,
    reason text NOT NULL,
    "position" integer DEFAULT 0 NOT NULL,
    times integer DEFAULT 1 NOT NULL,
    first_surfaced_at timestamp with time zone NOT NULL,
    surfaced_at timestamp with time zone NOT NULL,
    outcome text,
    how text,
    resolved_at timestamp with time zone,
    CONSTRAINT surfacing_check CHECK (((outcome IS NULL) = (how IS NULL))),
    CONSTRAINT surfacing_check1 CHECK (((outcome IS NULL) = (resolved_at IS NULL))),
    CONSTRAINT surfacing_how_check CHECK ((how = ANY (ARRAY['explicit'::text, 'self'::text, 'inferred'::text, 'expired'::text]))),
    CONSTRAINT surfacing_outcome_check CHECK ((outcome = ANY (ARRAY['acted'::text, 'used'::text, 'dismissed'::text, 'deferred'::text, 'contradicted'::text]))),
    CONSTRAINT surfacing_position_check CHECK (("position" >= 0)),
    CONSTRAINT surfacing_times_check CHECK ((times >= 1))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.surfacing IS 'what was put before a model, and what became of it; no outcome: it waits for one';

COMMENT ON COLUMN public.surfacing.memory_id IS 'the memory; of a forgotten one only zeros are left, so that totals stay';

COMMENT ON COLUMN public.surfacing.door IS 'through which door it was put before the model';

COMMENT ON COLUMN public.surfacing."position" IS 'place among what was put before the model together';

COMMENT ON COLUMN public.surfacing.times IS 'times that it was surfaced while it waited';

CREATE TABLE public.task (
    space_id text NOT NULL,
    id uuid NOT NULL,
    proposal_id uuid NOT NULL,
    title text NOT NULL,
    body text DEFAULT ''::text NOT NULL,
    state text DEFAULT 'open'::text NOT NULL,
    at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    closed_by text,
    CONSTRAINT task_check CHECK (((state = 'open'::text) = (closed_at IS NULL))),
    CONSTRAINT task_state_check CHECK ((state = ANY (ARRAY['open'::text, 'done'::text, 'dropped'::text])))
);

COMMENT ON TABLE public.task IS 'what somebody is to do about approved advice';

CREATE TABLE public.turn_index (
    space_id text NOT NULL,
    turn_id uuid NOT NULL,
    part integer NOT NULL,
    episode_id uuid NOT NULL,
    seq integer NOT NULL,
    agent_id text NOT NULL,
    session_id text NOT NULL,
    at timestamp with time zone NOT NULL,
    role text NOT NULL,
    origin text NOT NULL,
    trust real NOT NULL,
    speaker text,
    content text NOT NULL,
    context text DEFAULT ''::text NOT NULL,
    content_tsv tsvector,
    len integer DEFAULT 0 NOT NULL,
    model text,
    text_hash bytea NOT NULL,
    embedding public.halfvec,
    CONSTRAINT turn_index_check CHECK (((model IS NULL) = (embedding IS NULL))),
    CONSTRAINT turn_index_check1 CHECK (((part = 0) = (content_tsv IS NOT NULL))),
    CONSTRAINT turn_index_len_check CHECK ((len >= 0)),
    CONSTRAINT turn_index_origin_check CHECK ((origin = ANY (ARRAY['person'::text, 'system'::text, 'model'::text, 'tool'::text, 'document'::text, 'job'::text]))),
    CONSTRAINT turn_index_part_check CHECK ((part >= 0)),
    CONSTRAINT turn_index_trust_check CHECK (((trust >= (0)::double precision) AND (trust <= (1)::double precision)))
);

COMMENT ON TABLE public.turn_index IS 'what was said, cut into parts that a model can read; the first part carries all words';

COMMENT ON COLUMN public.turn_index.part IS 'place of the part within its turn, from 0';

COMMENT ON COLUMN public.turn_index.seq IS 'place of the turn within its episode';

COMMENT ON COLUMN public.turn_index.trust IS 'from 0 to 1, of whoever said it';

COMMENT ON COLUMN public.turn_index.speaker IS 'the name that the turn begins with, in small letters';

COMMENT ON COLUMN public.turn_index.context IS 'the day, and what was said right before and after';

COMMENT ON COLUMN public.turn_index.content_tsv IS 'words of the whole turn with weight A, those of its context with weight D';

COMMENT ON COLUMN public.turn_index.len IS 'words of the whole turn, each as often as it stands there';

COMMENT ON COLUMN public.turn_index.model IS 'who made the vector; vectors of different models are never compared';

COMMENT ON COLUMN public.turn_index.text_hash IS 'of the text that was embedded';

CREATE TABLE public.turn_progress (
    space_id text NOT NULL,
    episode_id uuid NOT NULL,
    turns integer NOT NULL,
    CONSTRAINT turn_progress_turns_check CHECK ((turns >= 0))
);

COMMENT ON TABLE public.turn_progress IS 'how far the turns of an episode have been made searchable';

COMMENT ON COLUMN public.turn_progress.turns IS 'place of the last turn that is searchable';

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
    at timestamp with time zone NOT NULL,
    is_isa boolean,
    confidence double precision,
    source text,
    from_quarantine boolean,
    last_at timestamp with time zone,
    CONSTRAINT urd_cause_confidence_check CHECK (((confidence >= (0)::double precision) AND (confidence <= (1)::double precision))),
    CONSTRAINT urd_cause_source_check CHECK ((source = ANY (ARRAY['cloud_llm'::text, 'inferred'::text, 'festinger'::text, 'gutask'::text])))
);

COMMENT ON TABLE public.urd_cause IS 'who said each triple, whether it stands or waits; kept when an edge gives way, so that it can come back';

COMMENT ON COLUMN public.urd_cause.id IS 'the concept of the triple';

COMMENT ON COLUMN public.urd_cause.cost_usd IS 'what the model call cost that wrote it; null if unknown or none';

COMMENT ON COLUMN public.urd_cause.is_isa IS 'whether it said kind or part; none, like what follows, where that was not kept yet';

COMMENT ON COLUMN public.urd_cause.confidence IS 'of the statement, from 0 to 1';

COMMENT ON COLUMN public.urd_cause.source IS 'by which way it was said';

COMMENT ON COLUMN public.urd_cause.from_quarantine IS 'whether it was let in because enough others had said it';

COMMENT ON COLUMN public.urd_cause.last_at IS 'when it said so last';

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
    weight double precision,
    CONSTRAINT urd_outcome_outcome_check CHECK ((outcome = ANY (ARRAY['acted'::text, 'contradicted'::text]))),
    CONSTRAINT urd_outcome_weight_check CHECK (((weight >= (0)::double precision) AND (weight <= (1)::double precision)))
);

COMMENT ON TABLE public.urd_outcome IS 'what came of notes that showed an edge, once a cause';

COMMENT ON COLUMN public.urd_outcome.id IS 'the concept of the edge';

COMMENT ON COLUMN public.urd_outcome.moved IS 'by how much it moved the confidence of the edge';

COMMENT ON COLUMN public.urd_outcome.weight IS 'share of a full step that it counted for; none where that was not kept yet';

CREATE TABLE public.verdict (
    space_id text NOT NULL,
    id uuid NOT NULL,
    proposal_id uuid NOT NULL,
    kind text NOT NULL,
    author text NOT NULL,
    verified boolean NOT NULL,
    channel text NOT NULL,
    channel_ref text NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    fields jsonb DEFAULT '{}'::jsonb NOT NULL,
    received_at timestamp with time zone NOT NULL,
    processed_at timestamp with time zone,
    result text,
    CONSTRAINT verdict_author_check CHECK (((length(author) >= 1) AND (length(author) <= 200))),
    CONSTRAINT verdict_channel_check CHECK (((length(channel) >= 1) AND (length(channel) <= 40))),
    CONSTRAINT verdict_channel_ref_check CHECK (((length(channel_ref) >= 1) AND (length(channel_ref) <= 200))),
    CONSTRAINT verdict_kind_check CHECK ((kind = ANY (ARRAY['approve'::text, 'reject'::text, 'deepen'::text, 'too_vague'::text, 'duplicate'::text, 'defer'::text, 'reopen'::text])))
);

COMMENT ON TABLE public.verdict IS 'what somebody said of a proposal; only a verified person''s word is acted on';

COMMENT ON COLUMN public.verdict.channel_ref IS 'the call, file or message that it came with: the same one counts once';

COMMENT ON COLUMN public.verdict.fields IS 'what else was said: edits, of, until';

COMMENT ON COLUMN public.verdict.result IS 'what came of it; null: it was not processed yet';

CREATE TABLE public.words_counted (
    space_id text NOT NULL,
    source text NOT NULL,
    ref uuid NOT NULL,
    len integer NOT NULL,
    terms tsvector NOT NULL,
    CONSTRAINT words_counted_source_check CHECK ((source = ANY (ARRAY['memory'::text, 'turn'::text])))
);

COMMENT ON TABLE public.words_counted IS 'what of a text is in the counts now, so that it can be taken out again';

COMMENT ON COLUMN public.words_counted.len IS 'words of the text';

CREATE TABLE public.words_heard (
    space_id text NOT NULL,
    seq bigint NOT NULL
);

COMMENT ON TABLE public.words_heard IS 'how far the outbox was read for the counts of words';

COMMENT ON COLUMN public.words_heard.seq IS 'the last event that was read; a space without a row has been read nowhere';

CREATE TABLE public.words_term (
    space_id text NOT NULL,
    source text NOT NULL,
    term text NOT NULL,
    df bigint DEFAULT 0 NOT NULL,
    CONSTRAINT words_term_source_check CHECK ((source = ANY (ARRAY['memory'::text, 'turn'::text])))
);

COMMENT ON TABLE public.words_term IS 'in how many texts each word stands';

COMMENT ON COLUMN public.words_term.df IS 'texts that hold the word';

CREATE TABLE public.words_total (
    space_id text NOT NULL,
    source text NOT NULL,
    docs bigint DEFAULT 0 NOT NULL,
    total_len bigint DEFAULT 0 NOT NULL,
    CONSTRAINT words_total_source_check CHECK ((source = ANY (ARRAY['memory'::text, 'turn'::text])))
);

COMMENT ON TABLE public.words_total IS 'how many texts there are to search, and how long they are together';

COMMENT ON COLUMN public.words_total.docs IS 'texts that are counted';

COMMENT ON COLUMN public.words_total.total_len IS 'words of all of them';

CREATE TABLE public.words_waiting (
    space_id text NOT NULL,
    source text NOT NULL,
    ref uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT words_waiting_source_check CHECK ((source = ANY (ARRAY['memory'::text, 'turn'::text])))
);

COMMENT ON TABLE public.words_waiting IS 'texts that came, went or changed since the words were counted';

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

ALTER TABLE ONLY public.blend_history
    ADD CONSTRAINT blend_history_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.blend
    ADD CONSTRAINT blend_pkey PRIMARY KEY (space_id, agent_id);

ALTER TABLE ONLY public.cache_version
    ADD CONSTRAINT cache_version_pkey PRIMARY KEY (space_id, room);

ALTER TABLE ONLY public.censor_change
    ADD CONSTRAINT censor_change_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.censor
    ADD CONSTRAINT censor_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.censor_trigger
    ADD CONSTRAINT censor_trigger_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.censor_vector
    ADD CONSTRAINT censor_vector_pkey PRIMARY KEY (space_id, censor_id, model);

ALTER TABLE ONLY public.config
    ADD CONSTRAINT config_pkey PRIMARY KEY (space_id, key);

ALTER TABLE ONLY public.console_session
    ADD CONSTRAINT console_session_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.cost
    ADD CONSTRAINT cost_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.cue_outcome
    ADD CONSTRAINT cue_outcome_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.cue_outcome
    ADD CONSTRAINT cue_outcome_space_id_memory_id_cue_hash_cause_key UNIQUE (space_id, memory_id, cue_hash, cause);

ALTER TABLE ONLY public.cue_quarantine_cause
    ADD CONSTRAINT cue_quarantine_cause_pkey PRIMARY KEY (space_id, quarantine_id, agent, session_id, day, origin, text_hash);

ALTER TABLE ONLY public.cue_quarantine
    ADD CONSTRAINT cue_quarantine_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.cue_waiting
    ADD CONSTRAINT cue_waiting_pkey PRIMARY KEY (space_id, message_id);

ALTER TABLE ONLY public.cycle
    ADD CONSTRAINT cycle_pkey PRIMARY KEY (space_id, memory_id, n);

ALTER TABLE ONLY public.episode_link
    ADD CONSTRAINT episode_link_pkey PRIMARY KEY (space_id, episode_id, target, target_id, relation);

ALTER TABLE ONLY public.episode
    ADD CONSTRAINT episode_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.episode_turn
    ADD CONSTRAINT episode_turn_pkey PRIMARY KEY (space_id, episode_id, seq);

ALTER TABLE ONLY public.event_delivery
    ADD CONSTRAINT event_delivery_pkey PRIMARY KEY (space_id, event_id, subscriber);

ALTER TABLE ONLY public.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.exchange_message
    ADD CONSTRAINT exchange_message_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.exchange
    ADD CONSTRAINT exchange_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.forgotten_mark
    ADD CONSTRAINT forgotten_mark_pkey PRIMARY KEY (space_id, mark);

ALTER TABLE ONLY public.held_session
    ADD CONSTRAINT held_session_pkey PRIMARY KEY (space_id, session_id);

ALTER TABLE ONLY public.identifier_part
    ADD CONSTRAINT identifier_part_pkey PRIMARY KEY (space_id, part, type, ref);

ALTER TABLE ONLY public.injection
    ADD CONSTRAINT injection_pkey PRIMARY KEY (space_id, caller, session_id, anchor);

ALTER TABLE ONLY public.job_record
    ADD CONSTRAINT job_record_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.judgement
    ADD CONSTRAINT judgement_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.learn_key
    ADD CONSTRAINT learn_key_pkey PRIMARY KEY (space_id, agent_id, key);

ALTER TABLE ONLY public.master_key
    ADD CONSTRAINT master_key_pkey PRIMARY KEY (sole);

ALTER TABLE ONLY public.memory_change
    ADD CONSTRAINT memory_change_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.memory_co_access
    ADD CONSTRAINT memory_co_access_pkey PRIMARY KEY (space_id, memory_id_a, memory_id_b);

ALTER TABLE ONLY public.memory_link
    ADD CONSTRAINT memory_link_pkey PRIMARY KEY (space_id, from_id, to_id, relation);

ALTER TABLE ONLY public.memory
    ADD CONSTRAINT memory_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.memory_sighting
    ADD CONSTRAINT memory_sighting_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.memory_vector
    ADD CONSTRAINT memory_vector_pkey PRIMARY KEY (space_id, memory_id, model, purpose);

ALTER TABLE ONLY public.models
    ADD CONSTRAINT models_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.outcome_batch
    ADD CONSTRAINT outcome_batch_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.outcome_batch
    ADD CONSTRAINT outcome_batch_space_id_key_key UNIQUE (space_id, key);

ALTER TABLE ONLY public.outcome
    ADD CONSTRAINT outcome_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.periodic
    ADD CONSTRAINT periodic_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.periodic_run
    ADD CONSTRAINT periodic_run_pkey PRIMARY KEY (name, due_at);

ALTER TABLE ONLY public.prediction
    ADD CONSTRAINT prediction_pkey PRIMARY KEY (space_id, memory_id);

ALTER TABLE ONLY public.producer_lift
    ADD CONSTRAINT producer_lift_pkey PRIMARY KEY (space_id, producer, category);

ALTER TABLE ONLY public.promotion_run
    ADD CONSTRAINT promotion_run_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.proposal_effect
    ADD CONSTRAINT proposal_effect_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.proposal_pair
    ADD CONSTRAINT proposal_pair_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.proposal
    ADD CONSTRAINT proposal_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.proposal_sighting
    ADD CONSTRAINT proposal_sighting_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.proposal_vector
    ADD CONSTRAINT proposal_vector_pkey PRIMARY KEY (space_id, proposal_id, model);

ALTER TABLE ONLY public.proxy_session
    ADD CONSTRAINT proxy_session_pkey PRIMARY KEY (space_id, caller, session_id);

ALTER TABLE ONLY public.recall_hit
    ADD CONSTRAINT recall_hit_pkey PRIMARY KEY (space_id, recall_id, "position");

ALTER TABLE ONLY public.recall
    ADD CONSTRAINT recall_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.refusal
    ADD CONSTRAINT refusal_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.request_log
    ADD CONSTRAINT request_log_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.resolution_queue
    ADD CONSTRAINT resolution_queue_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.resolution_run
    ADD CONSTRAINT resolution_run_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.reviewer
    ADD CONSTRAINT reviewer_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.reviewer
    ADD CONSTRAINT reviewer_space_id_name_key UNIQUE (space_id, name);

ALTER TABLE ONLY public.rhythm
    ADD CONSTRAINT rhythm_pkey PRIMARY KEY (space_id, memory_id);

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

ALTER TABLE ONLY public.staged_read
    ADD CONSTRAINT staged_read_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.surfacing
    ADD CONSTRAINT surfacing_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.task
    ADD CONSTRAINT task_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.turn_index
    ADD CONSTRAINT turn_index_pkey PRIMARY KEY (space_id, turn_id, part);

ALTER TABLE ONLY public.turn_progress
    ADD CONSTRAINT turn_progress_pkey PRIMARY KEY (space_id, episode_id);

ALTER TABLE ONLY public.urd_cause
    ADD CONSTRAINT urd_cause_pkey PRIMARY KEY (space_id, id, parent_id, dim_id, agent, session_id, day, origin);

ALTER TABLE ONLY public.urd_history
    ADD CONSTRAINT urd_history_pkey PRIMARY KEY (space_id, version, n);

ALTER TABLE ONLY public.urd_outcome
    ADD CONSTRAINT urd_outcome_pkey PRIMARY KEY (space_id, id, parent_id, dim_id, agent, session_id, day, origin, outcome, is_explicit);

ALTER TABLE ONLY public.urd
    ADD CONSTRAINT urd_pkey PRIMARY KEY (space_id, id, parent_id, dim_id);

ALTER TABLE ONLY public.verdict
    ADD CONSTRAINT verdict_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.verdict
    ADD CONSTRAINT verdict_space_id_channel_channel_ref_key UNIQUE (space_id, channel, channel_ref);

ALTER TABLE ONLY public.words_counted
    ADD CONSTRAINT words_counted_pkey PRIMARY KEY (space_id, source, ref);

ALTER TABLE ONLY public.words_heard
    ADD CONSTRAINT words_heard_pkey PRIMARY KEY (space_id);

ALTER TABLE ONLY public.words_term
    ADD CONSTRAINT words_term_pkey PRIMARY KEY (space_id, source, term);

ALTER TABLE ONLY public.words_total
    ADD CONSTRAINT words_total_pkey PRIMARY KEY (space_id, source);

ALTER TABLE ONLY public.words_waiting
    ADD CONSTRAINT words_waiting_pkey PRIMARY KEY (space_id, source, ref);

ALTER TABLE ONLY public.world_log
    ADD CONSTRAINT world_log_pkey PRIMARY KEY (space_id, version, n);

ALTER TABLE ONLY public.world_tombstone
    ADD CONSTRAINT world_tombstone_pkey PRIMARY KEY (space_id, id);

ALTER TABLE ONLY public.world_version
    ADD CONSTRAINT world_version_pkey PRIMARY KEY (space_id);

CREATE INDEX api_key_hash ON public.api_key USING btree (hash);

CREATE UNIQUE INDEX api_key_name ON public.api_key USING btree (space_id, name) WHERE (revoked_at IS NULL);

CREATE INDEX blend_history_agent ON public.blend_history USING btree (space_id, agent_id, at);

CREATE INDEX censor_change_censor ON public.censor_change USING btree (space_id, censor_id, at);

CREATE INDEX censor_order ON public.censor USING btree (space_id, seq);

CREATE INDEX censor_trigger_censor ON public.censor_trigger USING btree (space_id, censor_id, seq);

CREATE INDEX console_session_hash ON public.console_session USING btree (hash) WHERE (hash IS NOT NULL);

CREATE INDEX console_session_key ON public.console_session USING btree (space_id, key_id);

CREATE INDEX console_session_link ON public.console_session USING btree (link_hash) WHERE (link_hash IS NOT NULL);

CREATE INDEX cost_at ON public.cost USING btree (at, purpose);

CREATE INDEX cost_session ON public.cost USING btree (space_id, session_id) WHERE (session_id IS NOT NULL);

CREATE INDEX cue_outcome_memory ON public.cue_outcome USING btree (space_id, memory_id, at);

CREATE INDEX cue_quarantine_cause_session ON public.cue_quarantine_cause USING btree (space_id, session_id);

CREATE UNIQUE INDEX cue_quarantine_triple ON public.cue_quarantine USING btree (space_id, concept, parent, dim, is_isa);

CREATE INDEX cue_waiting_done ON public.cue_waiting USING btree (space_id, done_at) WHERE (done_at IS NOT NULL);

CREATE INDEX episode_continued ON public.episode USING btree (space_id, continues) WHERE (continues IS NOT NULL);

CREATE INDEX episode_idle ON public.episode USING btree (space_id, last_at) WHERE (state = 'open'::text);

CREATE INDEX episode_link_target ON public.episode_link USING btree (space_id, target_id);

CREATE UNIQUE INDEX episode_open ON public.episode USING btree (space_id, agent_id, session_id) WHERE (state = 'open'::text);

CREATE INDEX episode_order ON public.episode USING btree (space_id, seq);

CREATE INDEX episode_session ON public.episode USING btree (space_id, session_id, opened_at);

CREATE INDEX episode_turn_at ON public.episode_turn USING btree (space_id, at);

CREATE UNIQUE INDEX episode_turn_once ON public.episode_turn USING btree (space_id, turn_id);

CREATE INDEX episode_unfinished ON public.episode USING btree (space_id, closed_at) WHERE ((state <> 'open'::text) AND (facts_at IS NULL));

CREATE INDEX event_age ON public.event USING btree (at);

CREATE INDEX event_delivery_dead ON public.event_delivery USING btree (subscriber, at) WHERE (state = 'dead'::text);

CREATE INDEX event_delivery_waiting ON public.event_delivery USING btree (subscriber, at) WHERE (state = 'waiting'::text);

CREATE INDEX event_order ON public.event USING btree (space_id, seq);

CREATE INDEX event_trace ON public.event USING btree (space_id, trace_id, seq) WHERE (trace_id IS NOT NULL);

CREATE INDEX exchange_message_exchange ON public.exchange_message USING btree (space_id, exchange_id, seq);

CREATE INDEX exchange_session ON public.exchange USING btree (space_id, session_id, at);

CREATE INDEX identifier_part_ref ON public.identifier_part USING btree (space_id, type, ref);

CREATE INDEX job_record_dead ON public.job_record USING btree (dead_at) WHERE ((dead_at IS NOT NULL) AND (dropped_at IS NULL));

CREATE INDEX judgement_asked ON public.judgement USING btree (space_id, at) WHERE (judge ~~ 'llm:%'::text);

CREATE INDEX judgement_due ON public.judgement USING btree (space_id, next_try) WHERE (NOT final);

CREATE INDEX judgement_new ON public.judgement USING btree (space_id, new_ref);

CREATE INDEX judgement_old ON public.judgement USING btree (space_id, old_ref);

CREATE INDEX judgement_texts ON public.judgement USING btree (space_id, old_hash, new_hash);

CREATE UNIQUE INDEX judgement_waiting ON public.judgement USING btree (space_id, old_ref, new_ref) WHERE (NOT final);

CREATE INDEX learn_key_at ON public.learn_key USING btree (space_id, at);

CREATE INDEX memory_called ON public.memory USING gin (tags_tsv) WHERE (tags_tsv <> ''::tsvector);

CREATE INDEX memory_change_memories ON public.memory_change USING gin (memory_ids);

CREATE INDEX memory_change_op ON public.memory_change USING btree (space_id, op, at);

CREATE INDEX memory_co_access_back ON public.memory_co_access USING btree (space_id, memory_id_b);

CREATE INDEX memory_created ON public.memory USING btree (space_id, created_at);

CREATE INDEX memory_fold ON public.memory USING btree (space_id, fold) WHERE (status = ANY (ARRAY['active'::text, 'held'::text, 'quarantined'::text]));

CREATE INDEX memory_gist ON public.memory USING btree (space_id, gist) WHERE (status = ANY (ARRAY['active'::text, 'held'::text, 'quarantined'::text]));

CREATE INDEX memory_happened ON public.memory USING btree (space_id, COALESCE(event_time, created_at));

CREATE INDEX memory_link_to ON public.memory_link USING btree (space_id, to_id, relation);

CREATE UNIQUE INDEX memory_once ON public.memory USING btree (space_id, agent_id, kind, fold, event_day) NULLS NOT DISTINCT WHERE (status = ANY (ARRAY['active'::text, 'held'::text, 'quarantined'::text]));

CREATE INDEX memory_order ON public.memory USING btree (space_id, agent_id, seq);

CREATE INDEX memory_session ON public.memory USING btree (space_id, session_id);

CREATE INDEX memory_sighting_cause ON public.memory_sighting USING btree (space_id, memory_id, agent_id, day, origin) WHERE counted;

CREATE INDEX memory_sighting_memory ON public.memory_sighting USING btree (space_id, memory_id, at);

CREATE INDEX memory_sighting_session ON public.memory_sighting USING btree (space_id, session_id);

CREATE INDEX memory_sighting_source ON public.memory_sighting USING btree (space_id, source);

CREATE INDEX memory_slot ON public.memory USING btree (space_id, subject_key, attribute_key) WHERE (status = ANY (ARRAY['active'::text, 'held'::text, 'quarantined'::text]));

CREATE INDEX memory_source ON public.memory USING btree (space_id, source);

CREATE INDEX memory_standing ON public.memory USING btree (space_id, agent_id, seq) WHERE ((status = 'active'::text) AND (kind = ANY (ARRAY['preference'::text, 'procedural'::text])));

CREATE INDEX memory_successor ON public.memory USING btree (space_id, superseded_by) WHERE (superseded_by IS NOT NULL);

CREATE INDEX memory_vector_model ON public.memory_vector USING btree (space_id, model, purpose);

CREATE INDEX memory_waiting ON public.memory USING btree (space_id, status) WHERE (pending OR (status = ANY (ARRAY['held'::text, 'quarantined'::text])));

CREATE INDEX memory_words ON public.memory USING gin (content_tsv);

CREATE INDEX outcome_at ON public.outcome USING btree (space_id, at, id);

CREATE INDEX outcome_batch_at ON public.outcome_batch USING btree (space_id, at);

CREATE INDEX outcome_memory ON public.outcome USING btree (space_id, memory_id, at, id);

CREATE INDEX outcome_session ON public.outcome USING btree (space_id, session_id);

CREATE INDEX outcome_turn ON public.outcome USING btree (space_id, turn_id) WHERE (turn_id IS NOT NULL);

CREATE INDEX promotion_run_at ON public.promotion_run USING btree (space_id, at DESC);

CREATE INDEX proposal_duplicates ON public.proposal USING btree (space_id, duplicate_of) WHERE (duplicate_of IS NOT NULL);

CREATE INDEX proposal_effect_at ON public.proposal_effect USING btree (space_id, applied_at);

CREATE INDEX proposal_effect_proposal ON public.proposal_effect USING btree (space_id, proposal_id, applied_at);

CREATE UNIQUE INDEX proposal_fingerprint ON public.proposal USING btree (space_id, profile, fingerprint, normalised) WHERE (duplicate_of IS NULL);

CREATE INDEX proposal_listed ON public.proposal USING btree (space_id, state, last_seen DESC, id);

CREATE INDEX proposal_open ON public.proposal USING btree (space_id, promoted_at, id) WHERE (state = ANY (ARRAY['promoted'::text, 'deepening'::text, 'deferred'::text]));

CREATE INDEX proposal_pair_b ON public.proposal_pair USING btree (space_id, b_id);

CREATE UNIQUE INDEX proposal_pair_once ON public.proposal_pair USING btree (space_id, a_id, b_id);

CREATE INDEX proposal_pair_suggested ON public.proposal_pair USING btree (space_id, at, id) WHERE ((state = 'open'::text) AND (relation IS NOT NULL));

CREATE INDEX proposal_producer ON public.proposal USING btree (space_id, producer, category, decided_at);

CREATE INDEX proposal_promotions ON public.proposal USING btree (space_id, promoted_at) WHERE (promoted_at IS NOT NULL);

CREATE INDEX proposal_scope ON public.proposal USING btree (space_id, scope, last_seen DESC);

CREATE INDEX proposal_seen ON public.proposal USING btree (space_id, last_seen, id);

CREATE INDEX proposal_sighting_at ON public.proposal_sighting USING btree (space_id, at);

CREATE INDEX proposal_sighting_cause ON public.proposal_sighting USING btree (space_id, proposal_id, agent_id, session_id, day, origin);

CREATE UNIQUE INDEX proposal_sighting_source ON public.proposal_sighting USING btree (space_id, producer, source_id, proposal_id);

CREATE INDEX proposal_sighting_votes ON public.proposal_sighting USING btree (space_id, proposal_id, agent_id, day, origin, session_id) WHERE counted;

CREATE INDEX proposal_waiting ON public.proposal USING btree (space_id, seen_count, id) WHERE (state = 'waiting'::text);

CREATE INDEX proposal_words ON public.proposal USING btree (space_id, profile, fingerprint);

CREATE INDEX proxy_session_age ON public.proxy_session USING btree (at);

CREATE INDEX proxy_session_head ON public.proxy_session USING btree (space_id, caller, head, at);

CREATE INDEX recall_at ON public.recall USING btree (space_id, at);

CREATE INDEX recall_hit_ref ON public.recall_hit USING btree (space_id, ref);

CREATE INDEX recall_session ON public.recall USING btree (space_id, session_id, at);

CREATE INDEX refusal_at ON public.refusal USING btree (space_id, at);

CREATE INDEX refusal_session ON public.refusal USING btree (space_id, session_id, at);

CREATE INDEX request_log_age ON public.request_log USING btree (at);

CREATE INDEX request_log_at ON public.request_log USING btree (space_id, at);

CREATE UNIQUE INDEX resolution_queue_once ON public.resolution_queue USING btree (space_id, concept_id, dim_id, incoming_parent_id) WHERE ((status = 'pending'::text) AND (about = 'edge'::text));

CREATE INDEX resolution_queue_order ON public.resolution_queue USING btree (space_id, status, priority DESC, created_at);

CREATE UNIQUE INDEX resolution_queue_pair ON public.resolution_queue USING btree (space_id, old_memory, new_memory) WHERE ((status = 'pending'::text) AND (about = 'memory'::text));

CREATE UNIQUE INDEX resolution_run_one ON public.resolution_run USING btree (space_id) WHERE (state <> 'done'::text);

CREATE INDEX run_unfinished ON public.run USING btree (host) WHERE (clean IS NULL);

CREATE INDEX soas_sentence_session ON public.soas_sentence USING btree (space_id, session_id);

CREATE INDEX soas_unconfirmed ON public.soas USING btree (space_id, last_seen) WHERE (novelty = (0)::double precision);

CREATE INDEX soas_wanted ON public.soas USING btree (space_id, wanted_at) WHERE (wanted_at IS NOT NULL);

CREATE INDEX staged_read_expiry ON public.staged_read USING btree (space_id, expires_at);

CREATE INDEX staged_read_memory ON public.staged_read USING btree (space_id, memory_id, partition);

CREATE INDEX surfacing_memory ON public.surfacing USING btree (space_id, memory_id, surfaced_at);

CREATE UNIQUE INDEX surfacing_pending ON public.surfacing USING btree (space_id, partition, memory_id) WHERE (outcome IS NULL);

CREATE INDEX surfacing_recall ON public.surfacing USING btree (space_id, recall_id) WHERE (recall_id IS NOT NULL);

CREATE INDEX surfacing_resolved ON public.surfacing USING btree (space_id, resolved_at) WHERE (outcome IS NOT NULL);

CREATE INDEX surfacing_session ON public.surfacing USING btree (space_id, session_id, surfaced_at);

CREATE INDEX surfacing_waiting ON public.surfacing USING btree (space_id, surfaced_at) WHERE (outcome IS NULL);

CREATE INDEX task_open ON public.task USING btree (space_id, at) WHERE (state = 'open'::text);

CREATE INDEX task_proposal ON public.task USING btree (space_id, proposal_id);

CREATE INDEX turn_index_at ON public.turn_index USING btree (space_id, agent_id, at) WHERE (part = 0);

CREATE INDEX turn_index_episode ON public.turn_index USING btree (space_id, episode_id, seq);

CREATE INDEX turn_index_model ON public.turn_index USING btree (space_id, model);

CREATE INDEX turn_index_words ON public.turn_index USING gin (content_tsv) WHERE (part = 0);

CREATE INDEX urd_cause_message ON public.urd_cause USING btree (space_id, message_id) WHERE (message_id IS NOT NULL);

CREATE INDEX urd_cause_session ON public.urd_cause USING btree (space_id, session_id);

CREATE INDEX urd_dim ON public.urd USING btree (space_id, dim_id);

CREATE INDEX urd_history_at ON public.urd_history USING btree (space_id, at);

CREATE INDEX urd_history_concept ON public.urd_history USING btree (space_id, id, version);

CREATE INDEX urd_outcome_session ON public.urd_outcome USING btree (space_id, session_id);

CREATE INDEX urd_parent ON public.urd USING btree (space_id, parent_id);

CREATE UNIQUE INDEX urd_slot ON public.urd USING btree (space_id, id, dim_id);

CREATE INDEX verdict_proposal ON public.verdict USING btree (space_id, proposal_id, received_at);

CREATE INDEX verdict_unprocessed ON public.verdict USING btree (space_id, received_at) WHERE (processed_at IS NULL);

CREATE INDEX world_log_at ON public.world_log USING btree (space_id, at);

ALTER TABLE ONLY public.alias
    ADD CONSTRAINT alias_space_id_concept_id_fkey FOREIGN KEY (space_id, concept_id) REFERENCES public.soas(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.blend_history
    ADD CONSTRAINT blend_history_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.blend
    ADD CONSTRAINT blend_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.censor_change
    ADD CONSTRAINT censor_change_space_id_censor_id_fkey FOREIGN KEY (space_id, censor_id) REFERENCES public.censor(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.censor
    ADD CONSTRAINT censor_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.censor_trigger
    ADD CONSTRAINT censor_trigger_space_id_censor_id_fkey FOREIGN KEY (space_id, censor_id) REFERENCES public.censor(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.censor_vector
    ADD CONSTRAINT censor_vector_space_id_censor_id_fkey FOREIGN KEY (space_id, censor_id) REFERENCES public.censor(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.console_session
    ADD CONSTRAINT console_session_space_id_key_id_fkey FOREIGN KEY (space_id, key_id) REFERENCES public.api_key(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.cost
    ADD CONSTRAINT cost_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.cue_outcome
    ADD CONSTRAINT cue_outcome_space_id_memory_id_fkey FOREIGN KEY (space_id, memory_id) REFERENCES public.memory(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.cue_quarantine_cause
    ADD CONSTRAINT cue_quarantine_cause_space_id_quarantine_id_fkey FOREIGN KEY (space_id, quarantine_id) REFERENCES public.cue_quarantine(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.cue_quarantine
    ADD CONSTRAINT cue_quarantine_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.cue_waiting
    ADD CONSTRAINT cue_waiting_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.cycle
    ADD CONSTRAINT cycle_space_id_memory_id_fkey FOREIGN KEY (space_id, memory_id) REFERENCES public.memory(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.episode_link
    ADD CONSTRAINT episode_link_space_id_episode_id_fkey FOREIGN KEY (space_id, episode_id) REFERENCES public.episode(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.episode
    ADD CONSTRAINT episode_space_id_continues_fkey FOREIGN KEY (space_id, continues) REFERENCES public.episode(space_id, id);

ALTER TABLE ONLY public.episode
    ADD CONSTRAINT episode_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.episode_turn
    ADD CONSTRAINT episode_turn_space_id_episode_id_fkey FOREIGN KEY (space_id, episode_id) REFERENCES public.episode(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.event_delivery
    ADD CONSTRAINT event_delivery_space_id_event_id_fkey FOREIGN KEY (space_id, event_id) REFERENCES public.event(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.exchange_message
    ADD CONSTRAINT exchange_message_space_id_exchange_id_fkey FOREIGN KEY (space_id, exchange_id) REFERENCES public.exchange(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.exchange
    ADD CONSTRAINT exchange_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forgotten_mark
    ADD CONSTRAINT forgotten_mark_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.held_session
    ADD CONSTRAINT held_session_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.identifier_part
    ADD CONSTRAINT identifier_part_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.injection
    ADD CONSTRAINT injection_space_id_caller_session_id_fkey FOREIGN KEY (space_id, caller, session_id) REFERENCES public.proxy_session(space_id, caller, session_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.judgement
    ADD CONSTRAINT judgement_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.learn_key
    ADD CONSTRAINT learn_key_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.memory_change
    ADD CONSTRAINT memory_change_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.memory_co_access
    ADD CONSTRAINT memory_co_access_space_id_memory_id_a_fkey FOREIGN KEY (space_id, memory_id_a) REFERENCES public.memory(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.memory_co_access
    ADD CONSTRAINT memory_co_access_space_id_memory_id_b_fkey FOREIGN KEY (space_id, memory_id_b) REFERENCES public.memory(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.memory_link
    ADD CONSTRAINT memory_link_space_id_from_id_fkey FOREIGN KEY (space_id, from_id) REFERENCES public.memory(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.memory_sighting
    ADD CONSTRAINT memory_sighting_space_id_memory_id_fkey FOREIGN KEY (space_id, memory_id) REFERENCES public.memory(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.memory
    ADD CONSTRAINT memory_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.memory
    ADD CONSTRAINT memory_space_id_superseded_by_fkey FOREIGN KEY (space_id, superseded_by) REFERENCES public.memory(space_id, id);

ALTER TABLE ONLY public.memory_vector
    ADD CONSTRAINT memory_vector_space_id_memory_id_fkey FOREIGN KEY (space_id, memory_id) REFERENCES public.memory(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.models
    ADD CONSTRAINT models_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.outcome_batch
    ADD CONSTRAINT outcome_batch_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.outcome
    ADD CONSTRAINT outcome_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.prediction
    ADD CONSTRAINT prediction_space_id_memory_id_fkey FOREIGN KEY (space_id, memory_id) REFERENCES public.memory(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.producer_lift
    ADD CONSTRAINT producer_lift_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.promotion_run
    ADD CONSTRAINT promotion_run_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.proposal_effect
    ADD CONSTRAINT proposal_effect_space_id_proposal_id_fkey FOREIGN KEY (space_id, proposal_id) REFERENCES public.proposal(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.proposal_pair
    ADD CONSTRAINT proposal_pair_space_id_a_id_fkey FOREIGN KEY (space_id, a_id) REFERENCES public.proposal(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.proposal_pair
    ADD CONSTRAINT proposal_pair_space_id_b_id_fkey FOREIGN KEY (space_id, b_id) REFERENCES public.proposal(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.proposal_sighting
    ADD CONSTRAINT proposal_sighting_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.proposal_sighting
    ADD CONSTRAINT proposal_sighting_space_id_proposal_id_fkey FOREIGN KEY (space_id, proposal_id) REFERENCES public.proposal(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.proposal
    ADD CONSTRAINT proposal_space_id_duplicate_of_fkey FOREIGN KEY (space_id, duplicate_of) REFERENCES public.proposal(space_id, id);

ALTER TABLE ONLY public.proposal
    ADD CONSTRAINT proposal_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.proposal_vector
    ADD CONSTRAINT proposal_vector_space_id_proposal_id_fkey FOREIGN KEY (space_id, proposal_id) REFERENCES public.proposal(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.proxy_session
    ADD CONSTRAINT proxy_session_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.recall_hit
    ADD CONSTRAINT recall_hit_space_id_recall_id_fkey FOREIGN KEY (space_id, recall_id) REFERENCES public.recall(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.recall
    ADD CONSTRAINT recall_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.refusal
    ADD CONSTRAINT refusal_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.request_log
    ADD CONSTRAINT request_log_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.resolution_queue
    ADD CONSTRAINT resolution_queue_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.resolution_run
    ADD CONSTRAINT resolution_run_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.reviewer
    ADD CONSTRAINT reviewer_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.rhythm
    ADD CONSTRAINT rhythm_space_id_memory_id_fkey FOREIGN KEY (space_id, memory_id) REFERENCES public.memory(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.session_collision
    ADD CONSTRAINT session_collision_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.soas_sentence
    ADD CONSTRAINT soas_sentence_space_id_concept_id_fkey FOREIGN KEY (space_id, concept_id) REFERENCES public.soas(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.soas
    ADD CONSTRAINT soas_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.staged_read
    ADD CONSTRAINT staged_read_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.surfacing
    ADD CONSTRAINT surfacing_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.task
    ADD CONSTRAINT task_space_id_proposal_id_fkey FOREIGN KEY (space_id, proposal_id) REFERENCES public.proposal(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.turn_index
    ADD CONSTRAINT turn_index_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.turn_progress
    ADD CONSTRAINT turn_progress_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

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

ALTER TABLE ONLY public.verdict
    ADD CONSTRAINT verdict_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.verdict
    ADD CONSTRAINT verdict_space_id_proposal_id_fkey FOREIGN KEY (space_id, proposal_id) REFERENCES public.proposal(space_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.words_counted
    ADD CONSTRAINT words_counted_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.words_heard
    ADD CONSTRAINT words_heard_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.words_term
    ADD CONSTRAINT words_term_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.words_total
    ADD CONSTRAINT words_total_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.words_waiting
    ADD CONSTRAINT words_waiting_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.world_log
    ADD CONSTRAINT world_log_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.world_tombstone
    ADD CONSTRAINT world_tombstone_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.world_version
    ADD CONSTRAINT world_version_space_id_fkey FOREIGN KEY (space_id) REFERENCES public.space(id) ON DELETE CASCADE;
