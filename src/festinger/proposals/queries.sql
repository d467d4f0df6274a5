-- Proposals: what was sighted and counted, runs of the gate, pairs that may mean the same, verdicts and their effects.

-- name: lock_fingerprint
-- Lets one sighting of the same words be written at a time.
select pg_advisory_xact_lock(hashtextextended('proposal ' || %(space)s::text || '/' || %(fingerprint)s::text, 0));

-- name: find_by_fingerprint
-- Every proposal with this fingerprint, in any state; those that stand for themselves first.
select p.* from proposal p
where p.space_id = %(space)s and p.profile = %(profile)s and p.fingerprint = %(fingerprint)s
order by p.duplicate_of is not null, p.id;

-- name: hold_proposal
-- One proposal, which nobody else may change until the transaction ends.
select p.* from proposal p where p.space_id = %(space)s and p.id = %(id)s for update;

-- name: find_proposal
-- One proposal.
select p.* from proposal p where p.space_id = %(space)s and p.id = %(id)s;

-- name: proposals_by_prefix
-- The ids that begin so; a few are enough to say that there are several.
select p.id from proposal p where p.space_id = %(space)s and p.id::text like %(prefix)s || '%%' order by p.id limit 11;

-- name: add_proposal
-- A new proposal; nothing if another worker was first.
insert into proposal (space_id, id, fingerprint, profile, normalised, category, scope, type, what, why, how, payload,
    target, held, suppressed_until, producer, created_at)
values (%(space)s, %(id)s, %(fingerprint)s, %(profile)s, %(normalised)s, %(category)s, %(scope)s, %(type)s, %(what)s,
    %(why)s, %(how)s, %(payload)s::jsonb, %(target)s::jsonb, %(held)s, %(held_until)s, %(producer)s, %(at)s)
on conflict (space_id, profile, fingerprint, normalised) where duplicate_of is null do nothing
returning *;

-- name: is_evaluation
-- Whether a session is a trial.
select exists (
    select from episode e where e.space_id = %(space)s and e.session_id = %(session)s and e.evaluation
) as is_evaluation;

-- name: told_before
-- What an event or call already sighted: one of a proposal, or words that were refused.
select s.id, s.proposal_id, s.counted from proposal_sighting s
where s.space_id = %(space)s and s.producer = %(producer)s and s.source_id = %(source)s
  and (s.proposal_id = %(proposal)s or (%(proposal)s::uuid is null and s.proposal_id is null and s.text = %(text)s))
limit 1;

-- name: same_words
-- The row of a cause that said exactly this before, as counted or as uncounted.
select s.id, %(source)s::text = any(s.recent_sources) as is_again from proposal_sighting s
where s.space_id = %(space)s and s.proposal_id = %(proposal)s and s.agent_id = %(agent)s and s.session_id = %(session)s
  and s.day = %(day)s and s.origin = %(origin)s and s.producer = %(producer)s and s.text = %(text)s
  and s.uncounted_because is not distinct from %(because)s
limit 1;

-- name: say_again
-- Counts a repeat of the same words by the same cause, and remembers what the latest repeats came with.
update proposal_sighting s
set times = s.times + 1, at = least(s.at, %(at)s), last_at = greatest(s.last_at, %(at)s),
    recent_sources = (array[%(source)s::text] || s.recent_sources)[1:%(kept)s]
where s.space_id = %(space)s and s.id = %(id)s;

-- name: add_sighting
-- Keeps what was said.
insert into proposal_sighting (space_id, id, proposal_id, agent_id, session_id, day, origin, producer, text, why, how,
    evidence, reflection_id, source_id, at, last_at, counted, uncounted_because)
values (%(space)s, %(id)s, %(proposal)s, %(agent)s, %(session)s, %(day)s, %(origin)s, %(producer)s, %(text)s, %(why)s,
    %(how)s, %(evidence)s::jsonb, %(reflection)s, %(source)s, %(at)s, %(at)s, %(because)s::text is null, %(because)s);

-- name: sessions_counted
-- Which sessions of an agent, day and origin are votes for a proposal already.
select distinct s.session_id from proposal_sighting s
where s.space_id = %(space)s and s.proposal_id = any(%(family)s::uuid[]) and s.agent_id = %(agent)s and s.day = %(day)s
  and s.origin = %(origin)s and s.counted and s.at >= coalesce(%(since)s::timestamptz, '-infinity')
limit %(limit)s;

-- name: votes
-- What stands behind a proposal: for each agent, day and origin how many sessions, and from when to when.
select s.agent_id, s.day, s.origin, count(distinct s.session_id) as sessions, min(s.at) as first_at,
       max(s.last_at) as last_at
from proposal_sighting s
where s.space_id = %(space)s and s.proposal_id = any(%(family)s::uuid[]) and s.counted
  and s.at >= coalesce(%(since)s::timestamptz, '-infinity')
group by s.agent_id, s.day, s.origin;

-- name: family
-- A proposal and all that were declared its duplicates, however far. A ring of duplicates ends by itself.
with recursive member as (
    select %(id)s::uuid as id
    union
    select d.id from proposal d join member on d.space_id = %(space)s and d.duplicate_of = member.id
)
select member.id from member order by member.id;

-- name: count_votes
-- Writes down what the votes add up to.
update proposal p
set seen_count = %(seen_count)s, days_seen = %(days_seen)s, first_seen = %(first_seen)s, last_seen = %(last_seen)s,
    seen_after = %(seen_after)s, sightings = p.sightings + %(said)s, priority = %(priority)s
where p.space_id = %(space)s and p.id = %(id)s
returning *;

-- name: said_once_more
-- Counts what was said of a proposal without being a vote.
update proposal p set sightings = p.sightings + 1 where p.space_id = %(space)s and p.id = %(id)s returning *;

-- name: reopen_proposal
-- Lets what was rejected wait anew, once the silence is over: it is counted from here on.
update proposal p set state = 'waiting', counted_since = %(since)s, promoted_at = null, evaluated_at = null,
    deferred_until = null, held = null, seen_after = 0, version = p.version + 1
where p.space_id = %(space)s and p.id = %(id)s
returning *;

-- name: lock_gate
-- Lets one run of a space happen at a time.
select pg_advisory_xact_lock(hashtextextended('promotion ' || %(space)s::text, 0));

-- name: waiting_proposals
-- What the gate looks at.
select p.id, p.category, p.scope, p.producer, p.held, p.suppressed_until, p.seen_count, p.days_seen, p.first_seen,
       p.evaluated_at
from proposal p
where p.space_id = %(space)s and p.state = 'waiting';

-- name: note_ages
-- Remembers until when ages were read.
update proposal p set evaluated_at = %(at)s
where p.space_id = %(space)s and p.id = any(%(ids)s::uuid[]) and p.evaluated_at is distinct from %(at)s
  and (p.evaluated_at is null or p.evaluated_at < %(at)s);

-- name: count_open
-- How many proposals wait for a person: undecided, not put off, and not gone quiet.
select count(*) as open from proposal p
where p.space_id = %(space)s and p.state in ('promoted', 'deepening', 'deferred')
  and (p.state <> 'deferred' or p.deferred_until <= %(now)s)
  and greatest(p.last_seen, p.promoted_at, p.deferred_until) > %(quiet_since)s;

-- name: promote_proposal
-- Puts a proposal before a person.
update proposal p set state = 'promoted', promoted_at = %(at)s, version = p.version + 1
where p.space_id = %(space)s and p.id = %(id)s and p.state = 'waiting'
returning *;

-- name: write_run
-- Keeps what a run found.
insert into promotion_run (space_id, id, at, dry_run, considered, promoted, too_few, too_new, held, over_cap, excluded,
    paused_because, bars, readings)
values (%(space)s, %(id)s, %(at)s, %(dry_run)s, %(considered)s, %(promoted)s, %(too_few)s, %(too_new)s, %(held)s,
    %(over_cap)s, %(excluded)s, %(paused_because)s, %(bars)s::jsonb, %(readings)s::jsonb);

-- name: last_run
-- The latest run that was no trial.
select r.* from promotion_run r where r.space_id = %(space)s and not r.dry_run order by r.at desc, r.id desc limit 1;

-- name: runs
-- The latest runs.
select r.* from promotion_run r where r.space_id = %(space)s order by r.at desc, r.id desc limit %(limit)s;

-- name: named_proposals
-- What some proposals say.
select p.id, p.what, p.fingerprint from proposal p where p.space_id = %(space)s and p.id = any(%(ids)s::uuid[]);

-- name: list_proposals
-- Proposals that fit, the latest seen first. What is put off comes back by itself, what nobody saw for long goes quiet.
select p.* from proposal p
where p.space_id = %(space)s
  and (%(states)s::text[] is null or p.state = any(%(states)s))
  and (%(scope)s::text is null or p.scope = %(scope)s)
  and (%(category)s::text is null or p.category = %(category)s)
  and (%(held)s::boolean is null or (p.held is not null) = %(held)s)
  and (%(before)s::timestamptz is null
       or (coalesce(p.last_seen, p.created_at), p.id) < (%(before)s::timestamptz, %(after)s::uuid))
order by coalesce(p.last_seen, p.created_at) desc, p.id desc
limit %(limit)s;

-- name: sightings_of
-- What was said for a proposal and its duplicates, the newest first.
select s.* from proposal_sighting s
where s.space_id = %(space)s and s.proposal_id = any(%(family)s::uuid[])
order by s.last_at desc, s.id desc
limit %(limit)s;

-- name: wordings_of
-- In which words it was said, and how often each.
select s.text, sum(s.times)::bigint as times, min(s.at) as first_at from proposal_sighting s
where s.space_id = %(space)s and s.proposal_id = any(%(family)s::uuid[]) and s.text <> ''
group by s.text
order by min(s.at), s.text
limit %(limit)s;

-- name: origins_of
-- Whose words the votes for a proposal are.
select distinct s.origin from proposal_sighting s
where s.space_id = %(space)s and s.proposal_id = any(%(family)s::uuid[]) and s.counted;

-- name: refused_sightings
-- What could not be a proposal, the newest first.
select s.* from proposal_sighting s
where s.space_id = %(space)s and s.proposal_id is null
order by s.at desc, s.id desc
limit %(limit)s;

-- name: funnel
-- How many proposals there are in each state, and how many of those that wait are held.
select p.state, p.held, count(*) as proposals from proposal p where p.space_id = %(space)s group by p.state, p.held;

-- name: rate
-- How many proposals had a vote in the window, and how many of those were promoted in it.
select count(*) as considered,
       count(*) filter (where p.promoted_at >= %(since)s and p.producer <> 'person') as promoted
from proposal p
where p.space_id = %(space)s and p.last_seen >= %(since)s and p.duplicate_of is null;
