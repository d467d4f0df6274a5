-- Judgements: what was said of two statements, and what waits.

-- name: keep_waiting_judgements
-- Keeps of which pairs a judge was not sure. One that waits already is not kept twice: its row is moved on, and the next
-- of the times to try is the one that belongs to so many tries by this judge.
insert into judgement (space_id, id, old_ref, new_ref, old_hash, new_hash, relation, current, confidence, judge,
                       reasoning, guards, prompt_hash, final, attempts, next_try, latency_ms, at)
select %(space)s, s.id, s.old_ref, s.new_ref, decode(s.old_hash, 'hex'), decode(s.new_hash, 'hex'), s.relation,
       s.current, s.confidence, s.judge, s.reasoning, array(select jsonb_array_elements_text(s.guards)),
       s.prompt_hash, false, 1, (%(tries)s::timestamptz[])[1], s.latency_ms, %(now)s
from jsonb_to_recordset(%(rows)s::jsonb) as s (
    id uuid, old_ref uuid, new_ref uuid, old_hash text, new_hash text, relation text, current text,
    confidence double precision, judge text, reasoning text, guards jsonb, prompt_hash text,
    latency_ms double precision)
on conflict (space_id, old_ref, new_ref) where not final do update
set relation = excluded.relation, current = excluded.current, confidence = excluded.confidence,
    judge = excluded.judge, reasoning = excluded.reasoning, guards = excluded.guards,
    prompt_hash = excluded.prompt_hash, latency_ms = excluded.latency_ms, at = excluded.at,
    attempts = case when judgement.judge = excluded.judge then judgement.attempts else 0 end + 1,
    next_try = (%(tries)s::timestamptz[])[case when judgement.judge = excluded.judge then judgement.attempts
                                               else 0 end + 1]
returning id, old_ref, new_ref;

-- name: keep_final_judgements
-- Keeps what was said of pairs for good: ends the waiting of those that wait, and adds the others.
with said as (
    select * from jsonb_to_recordset(%(rows)s::jsonb) as r (
        id uuid, old_ref uuid, new_ref uuid, old_hash text, new_hash text, relation text, current text,
        confidence double precision, judge text, reasoning text, guards jsonb, prompt_hash text,
        latency_ms double precision)
), ended as (
    update judgement j
    set relation = s.relation, current = s.current, confidence = s.confidence, judge = s.judge,
        reasoning = s.reasoning, guards = array(select jsonb_array_elements_text(s.guards)),
        prompt_hash = s.prompt_hash, final = true, next_try = null, latency_ms = s.latency_ms, at = %(now)s
    from said s
    where j.space_id = %(space)s and j.old_ref = s.old_ref and j.new_ref = s.new_ref and not j.final
    returning j.id, j.old_ref, j.new_ref
), added as (
    insert into judgement (space_id, id, old_ref, new_ref, old_hash, new_hash, relation, current, confidence, judge,
                           reasoning, guards, prompt_hash, final, attempts, next_try, latency_ms, at)
    select %(space)s, s.id, s.old_ref, s.new_ref, decode(s.old_hash, 'hex'), decode(s.new_hash, 'hex'), s.relation,
           s.current, s.confidence, s.judge, s.reasoning, array(select jsonb_array_elements_text(s.guards)),
           s.prompt_hash, true, 1, null, s.latency_ms, %(now)s
    from said s
    where not exists (select 1 from ended e where e.old_ref = s.old_ref and e.new_ref = s.new_ref)
    returning id, old_ref, new_ref
)
select id, old_ref, new_ref from ended union all select id, old_ref, new_ref from added;

-- name: known_judgements
-- What was finally said of pairs of texts: by people, or by a judge that is still the present one.
select old_hash, new_hash, relation, current, confidence, judge, reasoning, guards, prompt_hash, final
from judgement
where space_id = %(space)s and final and overruled_by is null
  and (old_hash, new_hash) in (select * from unnest(%(old_hashes)s::bytea[], %(new_hashes)s::bytea[]))
  and (judge like 'person:%%' or judge = any(%(judges)s::text[]))
order by judge like 'person:%%', at;

-- name: overrule
-- Marks what was said of a pair of texts before a person decided.
update judgement set overruled_by = %(by)s, final = true, next_try = null
where space_id = %(space)s and id <> %(by)s and overruled_by is null
  and ((old_hash = %(old_hash)s and new_hash = %(new_hash)s) or (old_ref = %(old_ref)s and new_ref = %(new_ref)s));

-- name: find_judgement
-- One judgement.
select id, old_ref, new_ref, old_hash, new_hash, relation, current, confidence, judge, reasoning, guards,
       prompt_hash, final, attempts, next_try, latency_ms, at, overruled_by
from judgement where space_id = %(space)s and id = %(id)s;

-- name: list_judgements
-- The newest judgements, all or those that wait or are final.
select id, old_ref, new_ref, old_hash, new_hash, relation, current, confidence, judge, reasoning, guards,
       prompt_hash, final, attempts, next_try, latency_ms, at, overruled_by
from judgement
where space_id = %(space)s and (%(final)s::boolean is null or final = %(final)s::boolean)
  and (%(before)s::uuid is null or id < %(before)s::uuid)
order by id desc limit %(limit)s;

-- name: decided_by_people
-- What people said of pairs and stands, the newest first.
select old_ref, new_ref, old_hash, new_hash, relation
from judgement
where space_id = %(space)s and final and overruled_by is null and judge like 'person:%%'
order by id desc limit %(limit)s;

-- name: judgements_of
-- What was said of one statement, the newest first.
select id, old_ref, new_ref, old_hash, new_hash, relation, current, confidence, judge, reasoning, guards,
       prompt_hash, final, attempts, next_try, latency_ms, at, overruled_by
from judgement
where space_id = %(space)s and (old_ref = %(ref)s or new_ref = %(ref)s)
order by at desc, id desc limit %(limit)s;

-- name: due_judgements
-- Pairs that wait and may be tried now: their time has come, or there is a judge that has not seen them.
select id, old_ref, new_ref, attempts, judge
from judgement
where space_id = %(space)s and not final
  and (judge <> %(judge)s or (next_try <= %(now)s and attempts < %(max_tries)s))
order by at limit %(limit)s;

-- name: count_waiting
-- How many pairs wait, how many of them only a person can tell, and since when.
select count(*) as waiting, count(*) filter (where attempts >= %(max_tries)s) as for_person, min(at) as oldest
from judgement where space_id = %(space)s and not final;

-- name: count_asked
-- How often models were asked about pairs since a time.
select count(*) as asked from judgement
where space_id = %(space)s and judge like 'llm:%%' and at > %(since)s;

-- name: count_asking
-- How many statements a model was asked about since a time, and how often.
select count(distinct new_ref) as statements, count(*) as calls from judgement
where space_id = %(space)s and judge like 'llm:%%' and at > %(since)s;

-- name: drop_waiting
-- Lets nothing wait any more that is about a statement which is gone.
delete from judgement where space_id = %(space)s and not final and (old_ref = %(ref)s or new_ref = %(ref)s);

-- name: drop_one_waiting
-- Lets one pair wait no more.
delete from judgement where space_id = %(space)s and id = %(id)s and not final;

-- name: forget_judgements
-- Erases the words of judgements about statements that are forgotten.
update judgement set reasoning = '', old_hash = decode(repeat('00', 16), 'hex'),
    new_hash = decode(repeat('00', 16), 'hex')
where space_id = %(space)s and (old_ref = any(%(refs)s::uuid[]) or new_ref = any(%(refs)s::uuid[]));
