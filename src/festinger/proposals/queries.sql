-- Proposals: what was sighted and counted, runs of the gate, pairs that may mean the same, verdicts and their effects.

-- name: lock_fingerprint
-- Lets one sighting of the same words be written at a time.
select pg_advisory_xact_lock(hashtextextended('proposal ' || %(space)s::text || '/' || %(fingerprint)s::text, 0));

-- name: find_by_fingerprint
-- Every proposal with this fingerprint, in any state; those that stand for themselves first. Nobody else may change them
-- until the transaction ends.
select p.* from proposal p
where p.space_id = %(space)s and p.profile = 'festinger' and p.fingerprint = %(fingerprint)s
order by p.duplicate_of is not null, p.id
for update;

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
    target, held, suppressed_until, producer, created_at, seen_count, days_seen, first_seen, last_seen, sightings,
    priority)
values (%(space)s, %(id)s, %(fingerprint)s, 'festinger', %(normalised)s, %(category)s, %(scope)s, %(type)s, %(what)s,
    %(why)s, %(how)s, %(payload)s::jsonb, %(target)s::jsonb, %(held)s, %(held_until)s, %(producer)s, %(at)s,
    %(seen_count)s, %(days_seen)s, %(first_seen)s, %(last_seen)s, 1, %(priority)s)
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

-- name: known_sources
-- Which of these a producer has already reported.
select distinct s.source_id from proposal_sighting s
where s.space_id = %(space)s and s.producer = %(producer)s and s.source_id = any(%(sources)s);

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

-- name: named_proposals
-- What some proposals say.
select p.id, p.what, p.fingerprint from proposal p where p.space_id = %(space)s and p.id = any(%(ids)s::uuid[]);

-- name: list_proposals
-- Proposals that fit, the latest seen first. What is put off comes back by itself, what nobody saw for long goes quiet:
-- where an undecided one lies is read here as `inbox.standing` reads it, and what is back is asked for as `promoted`.
select p.* from proposal p
where p.space_id = %(space)s
  and (%(states)s::text[] is null or (case when p.state = 'deferred' and p.deferred_until <= %(now)s then 'promoted' else p.state end)
       = any(%(states)s))
  and (%(scope)s::text is null or p.scope = %(scope)s)
  and (%(category)s::text is null or p.category = %(category)s)
  and (%(held)s::boolean is null or (p.held is not null) = %(held)s)
  and (%(standing)s::text is null or %(standing)s = case
       when p.state not in ('promoted', 'deepening', 'deferred') then 'elsewhere'
       when p.state = 'deferred' and p.deferred_until > %(now)s then 'put off'
       when greatest(p.last_seen, p.promoted_at, p.deferred_until) > %(quiet_since)s then 'open'
       else 'quiet' end)
  and (%(before)s::timestamptz is null
       or (coalesce(p.last_seen, p.created_at), p.id) < (%(before)s::timestamptz, %(after)s::uuid))
order by coalesce(p.last_seen, p.created_at) desc, p.id desc
limit %(limit)s;

-- name: standing_proposals
-- What stands in a scope, or in every scope: undecided, in force, or rejected and still silent; the latest seen first.
select p.* from proposal p
where p.space_id = %(space)s and (%(scope)s::text is null or p.scope = %(scope)s)
  and (p.state in ('waiting', 'promoted', 'approved', 'applied', 'deepening', 'deferred')
       or (p.state = 'rejected' and p.suppressed_until >= %(now)s))
order by p.last_seen desc nulls last, p.id desc
limit %(limit)s;

-- name: observations
-- What recurred of late and nobody has decided, by how many causes saw it; `surfacing` says which of it is told.
select p.* from proposal p
where p.space_id = %(space)s and p.state in ('waiting', 'promoted') and p.seen_count >= %(least)s
  and p.first_seen >= %(since)s and p.what <> '' and p.id <> all(%(exclude)s::uuid[])
order by p.seen_count desc, p.last_seen desc, p.id desc
limit %(limit)s;

-- name: worded_proposals
-- Those of some proposals that have words left.
select p.* from proposal p where p.space_id = %(space)s and p.id = any(%(ids)s::uuid[]) and p.what <> '';

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

-- name: funnel
-- How many proposals there are in each state, and how many of those that wait are held.
select p.state, p.held, count(*) as proposals from proposal p where p.space_id = %(space)s group by p.state, p.held;

-- name: rate
-- How many proposals had a vote in the window, and how many of those were promoted in it.
select count(*) as considered,
       count(*) filter (where p.promoted_at >= %(since)s and p.producer <> 'person') as promoted
from proposal p
where p.space_id = %(space)s and p.last_seen >= %(since)s and p.duplicate_of is null;

-- name: lock_message
-- Lets the same message of a channel be taken in once at a time.
select pg_advisory_xact_lock(hashtextextended(
    'verdict ' || %(space)s::text || '/' || %(channel)s::text || '/' || %(ref)s::text, 0));

-- name: verdict_of_message
-- What a message of a channel said when it came before.
select v.* from verdict v where v.space_id = %(space)s and v.channel = %(channel)s and v.channel_ref = %(ref)s;

-- name: add_verdict
-- Keeps what somebody said of a proposal.
insert into verdict (space_id, id, proposal_id, kind, author, verified, channel, channel_ref, note, fields, received_at,
    processed_at, result)
values (%(space)s, %(id)s, %(proposal)s, %(kind)s, %(author)s, %(verified)s, %(channel)s, %(ref)s, %(note)s,
    %(fields)s::jsonb, %(at)s, %(processed_at)s, %(result)s)
returning *;

-- name: find_verdict
-- One verdict.
select v.* from verdict v where v.space_id = %(space)s and v.id = %(id)s;

-- name: waiting_verdicts
-- What verified people said of a proposal and nobody acted on yet.
select v.* from verdict v
where v.space_id = %(space)s and v.proposal_id = %(proposal)s and v.verified and v.processed_at is null
order by v.received_at, v.id
for update;

-- name: verdicts_of
-- What was said of a proposal, the newest first.
select v.* from verdict v where v.space_id = %(space)s and v.proposal_id = %(proposal)s
order by v.received_at desc, v.id desc
limit %(limit)s;

-- name: close_verdict
-- Says what came of a verdict.
update verdict v set processed_at = %(at)s, result = %(result)s, fields = %(fields)s::jsonb
where v.space_id = %(space)s and v.id = %(id)s;

-- name: overtake
-- Closes what else waited for a proposal that was decided just now.
update verdict v set processed_at = %(at)s, result = %(result)s
where v.space_id = %(space)s and v.proposal_id = %(proposal)s and v.verified and v.processed_at is null;

-- name: unanswered
-- Proposals of which somebody said something that nobody acted on.
select distinct v.proposal_id from verdict v
where v.space_id = %(space)s and v.processed_at is null and v.verified and v.received_at < %(before)s
order by v.proposal_id;

-- name: types_of
-- What an approval of some proposals would do.
select p.id, p.type from proposal p where p.space_id = %(space)s and p.id = any(%(ids)s::uuid[]);

-- name: move_proposal
-- Writes what a decision changes of a proposal; its words stay, which an effect may have cut.
update proposal p
set state = %(state)s, held = %(held)s, promoted_at = %(promoted_at)s, suppressed_until = %(suppressed_until)s,
    deferred_until = %(deferred_until)s, decided_at = %(decided_at)s, rejections = %(rejections)s,
    reevaluations = %(reevaluations)s, duplicate_of = %(duplicate_of)s, version = p.version + 1
where p.space_id = %(space)s and p.id = %(id)s
returning *;

-- name: reword_proposal
-- Gives a proposal other words, and makes it anew from what it would touch.
update proposal p
set what = %(what)s, how = %(how)s, payload = %(payload)s::jsonb, target = %(target)s::jsonb, version = p.version + 1
where p.space_id = %(space)s and p.id = %(id)s
returning *;

-- name: add_effect
-- Keeps what an approval did, and what was there before.
insert into proposal_effect (space_id, id, proposal_id, type, before, after, changes, applied_at, applied_by)
values (%(space)s, %(id)s, %(proposal)s, %(type)s, %(before)s::jsonb, %(after)s::jsonb, %(changes)s, %(at)s, %(by)s)
returning *;

-- name: effects_of
-- What approvals of a proposal did, the newest first.
select e.* from proposal_effect e where e.space_id = %(space)s and e.proposal_id = %(proposal)s
order by e.applied_at desc, e.id desc
limit %(limit)s;

-- name: mark_effect_undone
-- Says who took an approval back.
update proposal_effect e set undone_at = %(at)s, undone_by = %(by)s
where e.space_id = %(space)s and e.id = %(id)s
returning *;

-- name: reviewers
-- Everybody whose verdict counts or counted.
select r.* from reviewer r where r.space_id = %(space)s order by r.name;

-- name: hold_reviewer
-- One reviewer by name, whom nobody else may change until the transaction ends.
select r.* from reviewer r where r.space_id = %(space)s and r.name = %(name)s for update;

-- name: put_reviewer
-- Makes a reviewer, or changes by what one is known and whether their verdict counts.
insert into reviewer (space_id, id, name, identities, active, at)
values (%(space)s, %(id)s, %(name)s, %(identities)s::jsonb, %(active)s, %(at)s)
on conflict (space_id, name) do update set identities = excluded.identities, active = excluded.active
returning *;

-- name: add_task
-- Makes a task of approved advice.
insert into task (space_id, id, proposal_id, title, body, at)
values (%(space)s, %(id)s, %(proposal)s, %(title)s, %(body)s, %(at)s)
returning *;

-- name: hold_task
-- One task, which nobody else may change until the transaction ends.
select t.* from task t where t.space_id = %(space)s and t.id = %(id)s for update;

-- name: close_task
-- Says that a task is done or dropped, and by whom.
update task t set state = %(state)s, closed_at = %(at)s, closed_by = %(by)s
where t.space_id = %(space)s and t.id = %(id)s
returning *;

-- name: tasks
-- Tasks, the oldest first.
select t.* from task t
where t.space_id = %(space)s and (%(state)s::text is null or t.state = %(state)s)
order by t.at, t.id
limit %(limit)s;

-- name: decisions_since
-- What was decided since then, with what a duplicate leads to.
select p.producer, p.category, p.scope, p.state, p.decided_at, p.seen_after,
       p.suppressed_until is not null as is_silenced, d.state as of_state
from proposal p
left join proposal d on d.space_id = p.space_id and d.id = p.duplicate_of
where p.space_id = %(space)s and p.decided_at >= %(since)s
  and p.state in ('applied', 'undone', 'rejected', 'duplicate')
  and (%(producer)s::text is null or p.producer = %(producer)s)
  and (%(category)s::text is null or p.category = %(category)s);

-- name: lifted_producers
-- Whose muting a person lifted, and when.
select l.producer, l.category, l.at from producer_lift l where l.space_id = %(space)s;

-- name: lift_producer
-- Says that a person lets a muted producer speak again.
insert into producer_lift (space_id, producer, category, at, by)
values (%(space)s, %(producer)s, %(category)s, %(at)s, %(by)s)
on conflict (space_id, producer, category) do update set at = excluded.at, by = excluded.by;

-- name: release_producer
-- Lets go the proposals of a producer that were held because it was muted.
update proposal p set held = null, suppressed_until = null, version = p.version + 1
where p.space_id = %(space)s and p.producer = %(producer)s and p.category = %(category)s
  and p.state = 'waiting' and p.held = 'producer_muted';

-- name: pairs_of
-- What a proposal may mean the same as, or the opposite of.
select x.id, x.relation, x.similarity, x.state, o.id as other, o.what from proposal_pair x
join proposal o on o.space_id = x.space_id and o.id = case when x.a_id = %(proposal)s then x.b_id else x.a_id end
where x.space_id = %(space)s and (x.a_id = %(proposal)s or x.b_id = %(proposal)s) and x.relation is not null
order by x.at, x.id;

-- name: opposites_of
-- What asks for the opposite of a proposal, and has words left that can be looked at.
select o.id, o.what from proposal_pair x
join proposal o on o.space_id = x.space_id and o.id = case when x.a_id = %(proposal)s then x.b_id else x.a_id end
where x.space_id = %(space)s and (x.a_id = %(proposal)s or x.b_id = %(proposal)s)
  and x.relation = 'opposite' and x.state = 'open' and o.what <> ''
order by o.id;

-- name: note_opposite
-- Says that two proposals are not what they were when somebody looked at them: from now on each shows the other.
update proposal p set version = p.version + 1 where p.space_id = %(space)s and p.id = any(%(ids)s::uuid[]);

-- name: suggested_pairs
-- Pairs that wait for a person, the newest first.
select x.id, x.relation, x.similarity, x.judgement, x.at, a.id as a, a.what as a_what, b.id as b, b.what as b_what
from proposal_pair x
join proposal a on a.space_id = x.space_id and a.id = x.a_id
join proposal b on b.space_id = x.space_id and b.id = x.b_id
where x.space_id = %(space)s and x.state = 'open' and x.relation is not null
order by x.at desc, x.id desc
limit %(limit)s;

-- name: hold_pair
-- One pair, which nobody else may decide until the transaction ends.
select x.* from proposal_pair x where x.space_id = %(space)s and x.id = %(id)s for update;

-- name: decide_pair
-- Says what a person made of a pair.
update proposal_pair x set state = %(state)s, decided_by = %(by)s, decided_at = %(at)s, judgement = %(judgement)s::jsonb
where x.space_id = %(space)s and x.id = %(id)s;

-- name: join_proposal
-- Lets another proposal stand for this one.
update proposal p set state = 'duplicate', duplicate_of = %(of)s, held = null, version = p.version + 1
where p.space_id = %(space)s and p.id = %(id)s;

-- name: part_proposal
-- Lets a proposal stand for itself again.
update proposal p set state = %(state)s, duplicate_of = null, version = p.version + 1
where p.space_id = %(space)s and p.id = %(id)s
returning *;

-- name: release_proposal
-- Lets a proposal go that was held.
update proposal p set held = null, suppressed_until = null, counted_since = null, version = p.version + 1
where p.space_id = %(space)s and p.id = %(id)s and p.state = 'waiting' and p.held is not null
returning *;

-- name: comparable
-- Proposals that a second pass holds against each other: undecided ones, and those whose rejection still silences.
select p.* from proposal p
where p.space_id = %(space)s and p.what <> '' and p.duplicate_of is null
  and (p.state in ('waiting', 'promoted', 'deepening', 'deferred')
       or (p.state = 'rejected' and p.suppressed_until >= %(now)s))
  and greatest(p.last_seen, p.created_at, p.decided_at) >= %(since)s
order by greatest(p.last_seen, p.created_at) desc, p.id
limit %(limit)s;

-- name: proposal_vectors
-- Vectors of proposals by one model.
select v.proposal_id, v.text_hash, v.embedding from proposal_vector v
where v.space_id = %(space)s and v.model = %(model)s and v.proposal_id = any(%(ids)s::uuid[]);

-- name: put_proposal_vector
-- Keeps what a proposal means.
insert into proposal_vector (space_id, proposal_id, model, dims, text_hash, embedding, at)
values (%(space)s, %(proposal)s, %(model)s, %(dims)s, %(text_hash)s, %(embedding)s, %(at)s)
on conflict (space_id, proposal_id, model) do update
set dims = excluded.dims, text_hash = excluded.text_hash, embedding = excluded.embedding, at = excluded.at;

-- name: judged_pairs
-- Pairs that need no judging: those of the same words and embedder, and all that a person decided.
select x.a_id, x.b_id, x.words, x.state <> 'open' as is_decided from proposal_pair x
where x.space_id = %(space)s and (x.embedder = %(embedder)s or x.state <> 'open');

-- name: put_pair
-- Keeps what was found of two proposals. What a person has decided stays.
insert into proposal_pair as x (space_id, id, a_id, b_id, relation, similarity, embedder, words, judgement, at)
values (%(space)s, %(id)s, %(a)s, %(b)s, %(relation)s, %(similarity)s, %(embedder)s, %(words)s, %(judgement)s::jsonb,
    %(at)s)
on conflict (space_id, a_id, b_id) do update
set relation = excluded.relation, similarity = excluded.similarity, embedder = excluded.embedder,
    words = excluded.words, judgement = excluded.judgement, at = excluded.at
where x.state = 'open'
returning x.id;

-- name: hold_like_rejected
-- Keeps back what means something that was rejected, for as long as that is silenced; it counts from then on.
update proposal p set held = %(held)s, suppressed_until = %(until)s, counted_since = %(until)s, version = p.version + 1
where p.space_id = %(space)s and p.id = %(id)s and p.state = 'waiting' and p.held is null
returning *;

-- name: forget_sightings
-- Takes the words of sightings whose evidence names what was forgotten; that they were made still counts.
update proposal_sighting s set text = '', why = '', how = '', evidence = '{}'
where s.space_id = %(space)s
  and (s.id::text = any(%(ids)s::text[]) or s.reflection_id::text = any(%(ids)s::text[])
       or exists (select from jsonb_path_query(s.evidence, '$.** ? (@.type() == "string")') as cited (id)
                  where cited.id #>> '{}' = any(%(ids)s::text[])))
returning s.id, s.proposal_id;

-- name: forget_payloads
-- Empties what proposals would do to something that was forgotten, and marks them for it.
update proposal p set payload = '{}', target = '{"forgotten": true}', version = p.version + 1
where p.space_id = %(space)s
  and exists (select from jsonb_path_query(jsonb_build_array(p.payload, p.target), '$.** ? (@.type() == "string")')
                  as named (id)
              where named.id #>> '{}' = any(%(ids)s::text[]))
returning p.id;

-- name: forget_words
-- Lets a proposal speak in the oldest words that are left.
update proposal p
set what = coalesce((select s.text from proposal_sighting s
                     where s.space_id = p.space_id and s.proposal_id = p.id and s.text <> ''
                     order by s.text <> p.what, s.at, s.id limit 1), ''),
    why = coalesce((select s.why from proposal_sighting s
                    where s.space_id = p.space_id and s.proposal_id = p.id and s.text <> ''
                    order by s.at, s.id limit 1), ''),
    how = coalesce((select s.how from proposal_sighting s
                    where s.space_id = p.space_id and s.proposal_id = p.id and s.text <> ''
                    order by s.at, s.id limit 1), ''),
    version = p.version + 1
where p.space_id = %(space)s and p.id = %(id)s;

-- name: close_wordless
-- Closes a proposal that has no words left, without silencing anything. Its key must not tell what it said.
update proposal p set state = case when p.duplicate_of is null then 'rejected' else p.state end, held = null,
    suppressed_until = null, decided_at = coalesce(p.decided_at, %(at)s), normalised = p.id::text, fingerprint = '',
    payload = '{}', target = '{}'
where p.space_id = %(space)s and p.id = %(id)s and p.what = '';

-- name: forget_vectors
-- Takes the vectors of a proposal whose words changed; a pass makes them again.
delete from proposal_vector v where v.space_id = %(space)s and v.proposal_id = %(id)s;

-- name: forget_tasks
-- Takes the words of a task whose proposal has none left.
update task t set title = '', body = ''
where t.space_id = %(space)s and t.proposal_id = %(id)s
  and exists (select from proposal p where p.space_id = t.space_id and p.id = t.proposal_id and p.what = '');

-- name: take_back_sightings
-- Lets what came from somewhere count no more, and what cites some memories; each with why it was no vote before.
with meant as (
    select s.id, s.uncounted_because from proposal_sighting s
    where s.space_id = %(space)s and (s.counted or s.uncounted_because = %(flood)s)
      and (((%(source)s::text is null or s.source_id = %(source)s
             or exists (select from jsonb_array_elements_text(s.evidence -> 'episodes') as e (id)
                        where %(source)s = 'episode:' || e.id))
            and (%(session)s::text is null or s.session_id = %(session)s)
            and (%(agent)s::text is null or s.agent_id = %(agent)s)
            and (%(origin)s::text is null or s.origin = %(origin)s)
            and (%(since)s::timestamptz is null or s.at >= %(since)s)
            and (%(until)s::timestamptz is null or s.at < %(until)s))
           or exists (select from jsonb_array_elements_text(s.evidence -> 'memories') as m (id)
                      where m.id = any(%(bad)s::text[])))
)
update proposal_sighting s set counted = false, uncounted_because = %(because)s
from meant
where s.space_id = %(space)s and s.id = meant.id
returning s.id, s.proposal_id, s.agent_id, s.day, s.origin, s.times, meant.uncounted_because as was_because;

-- name: day_of_agent
-- What an agent said for a proposal on one day with one origin, as a vote or beyond its votes, in order of time.
select s.id, s.session_id, s.counted from proposal_sighting s
where s.space_id = %(space)s and s.proposal_id = any(%(family)s::uuid[]) and s.agent_id = %(agent)s and s.day = %(day)s
  and s.origin = %(origin)s and (s.counted or s.uncounted_because = %(flood)s)
order by s.at, s.id;

-- name: mark_sightings
-- Says of each of some sightings why it is no vote; without a reason it is one.
update proposal_sighting s set counted = marked.because is null, uncounted_because = marked.because
from unnest(%(ids)s::uuid[], %(because)s::text[]) as marked (id, because)
where s.space_id = %(space)s and s.id = marked.id
returning s.id, s.proposal_id, s.times;

-- name: is_sighted_by
-- Whether a producer has a vote for a proposal.
select exists (
    select from proposal_sighting s
    where s.space_id = %(space)s and s.proposal_id = any(%(family)s::uuid[]) and s.producer = %(producer)s and s.counted
) as is_sighted;

-- name: stand_before_person
-- Puts a proposal back before a person that waited again, unless something happened to it meanwhile.
update proposal p set state = %(state)s, promoted_at = %(promoted_at)s, deferred_until = %(deferred_until)s,
    version = p.version + 1
where p.space_id = %(space)s and p.id = %(id)s and p.state = 'waiting';

-- name: count_held
-- How many proposals are kept back now, by why.
select p.held, count(*) as proposals from proposal p
where p.space_id = %(space)s and p.state = 'waiting' and p.held is not null
  and (p.suppressed_until is null or p.suppressed_until >= %(now)s)
group by p.held;
