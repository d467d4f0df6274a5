-- Statements about what happened and who has been told.

-- name: lock_subjects
-- Writers of one subject take turns until they commit, so that `seq` rises in the order of commit. Subjects are
-- locked in one order everywhere, or two writers would wait for each other.
select pg_advisory_xact_lock(hashtextextended('event ' || %(space)s::text || '/' || subject, 0))
from (select distinct subject from unnest(%(subjects)s::text[]) as subject order by subject) as sorted;

-- name: write_events
-- Writes events of one space in their order, with a row for each subscriber, and wakes who follows the outbox.
-- `deliveries` names the event of each subscriber. First the writer leaves its mark: a shared lock that holds the
-- last number given before its own. Who follows reads no further than the oldest mark, because behind it numbers
-- may be missing that are not committed yet.
with entered as materialized (
    select pg_advisory_xact_lock_shared(
        7021, ((case when is_called then last_value else 0 end) %% 2147483648)::integer)
    from event_seq
), written as (
    insert into event (space_id, id, name, version, subject, agent_id, session_id, trace_id, caused_by, payload, at)
    select %(space)s, each.id, each.name, each.version, each.subject, each.agent, each.session, each.trace,
           each.caused_by, each.payload, %(at)s
    from entered,
         unnest(%(ids)s::uuid[], %(names)s::text[], %(versions)s::smallint[], %(subjects)s::text[],
                %(agents)s::text[], %(sessions)s::text[], %(traces)s::text[], %(causes)s::uuid[],
                %(payloads)s::jsonb[])
         with ordinality as each (id, name, version, subject, agent, session, trace, caused_by, payload, place)
    order by each.place
    returning space_id, id, seq, at
), asked as (
    insert into event_delivery (space_id, event_id, subscriber, state, at, state_at)
    select written.space_id, written.id, asked.subscriber, 'waiting', written.at, written.at
    from written
    join unnest(%(deliveries)s::uuid[], %(subscribers)s::text[]) as asked (event, subscriber)
      on asked.event = written.id
)
select array_agg(seq order by seq) as numbers, pg_notify('festinger_event', %(space)s) from written;

-- name: add_deliveries
-- Gives a subscriber rows for events that it could not handle at once.
insert into event_delivery (space_id, event_id, subscriber, state, at, state_at)
select %(space)s, unnest(%(events)s::uuid[]), %(subscriber)s, 'waiting', %(at)s, %(at)s;

-- name: claim_delivery
-- Marks a delivery as made, in the transaction of the subscriber's own rows. A second delivery waits for the
-- first here, and then finds nothing to do.
update event_delivery set state = 'delivered', state_at = %(now)s, note = ''
where space_id = %(space)s and event_id = %(event)s and subscriber = %(subscriber)s
  and state in ('waiting', 'dead')
returning event_id;

-- name: bury_delivery
-- Gives a delivery up; the subject goes on without it.
update event_delivery set state = 'dead', state_at = %(now)s, note = %(note)s
where space_id = %(space)s and event_id = %(event)s and subscriber = %(subscriber)s and state = 'waiting'
returning event_id;

-- name: drop_delivery
-- Lays a dead delivery aside for good.
update event_delivery set state = 'dropped', state_at = %(now)s, note = %(note)s
where space_id = %(space)s and event_id = %(event)s and subscriber = %(subscriber)s
  and state in ('waiting', 'dead');

-- name: find_event
-- One event.
select space_id, id, seq, name, version, subject, agent_id, session_id, trace_id, caused_by, payload, at
from event where space_id = %(space)s and id = %(id)s;

-- name: last_number
-- The last number that was given to an event; read before the marks.
select case when is_called then last_value else 0 end as seq from event_seq;

-- name: settled_until
-- The highest number up to which no event can appear any more: the oldest mark of a writer that has not
-- committed, else the last number given. Marks hold 31 bits; a writer is never that many numbers behind.
select %(last)s::bigint - coalesce(max(((%(last)s::bigint %% 2147483648) - mark.objid::bigint + 2147483648)
                                       %% 2147483648), 0) as seq
from pg_locks as mark
where mark.locktype = 'advisory' and mark.classid = 7021 and mark.objsubid = 2 and mark.granted
  and mark.database = (select oid from pg_database where datname = current_database())
  -- A writer that came after the last number was read stands ahead of it, and holds nothing back.
  and ((%(last)s::bigint %% 2147483648) - mark.objid::bigint + 2147483648) %% 2147483648 < 1073741824;

-- name: events_after
-- What followed in these spaces, in order, as far as it is settled.
select space_id, id, seq, name, version, subject, agent_id, session_id, trace_id, caused_by, payload, at
from event
where space_id = any(%(spaces)s::text[]) and seq > %(after)s and seq <= %(until)s
  and (%(names)s::text[] is null or name = any(%(names)s))
order by seq
limit %(limit)s;

-- name: event_history
-- Events of one space for people: what a request caused, what happened to a subject. The newest first.
select space_id, id, seq, name, version, subject, agent_id, session_id, trace_id, caused_by, payload, at
from event
where space_id = %(space)s
  -- when: traced
  and trace_id = %(trace)s
  -- end
  -- when: about
  and subject = %(subject)s
  -- end
  and (%(names)s::text[] is null or name = any(%(names)s))
  and (%(before)s::bigint is null or seq < %(before)s)
order by seq desc
limit %(limit)s;

-- name: lag
-- The oldest waiting delivery of each subscriber, and how many wait.
select subscriber, min(at) as oldest, count(*) as waiting
from event_delivery where state = 'waiting' group by subscriber order by subscriber;

-- name: dead_deliveries
-- Deliveries that were given up, the oldest first.
select delivery.space_id, delivery.event_id, delivery.subscriber, delivery.at, delivery.state_at,
       delivery.note, event.name, event.subject
from event_delivery as delivery
join event on event.space_id = delivery.space_id and event.id = delivery.event_id
where delivery.state = 'dead'
order by delivery.at, delivery.event_id, delivery.subscriber
limit %(limit)s;

-- name: prune_events
-- Removes one batch of old events whose deliveries are all settled. Audit events have a moment of their own.
with old as (
    select space_id, id from event
    where at < %(before)s and (at < %(audit_before)s or name <> all(%(audit)s::text[]))
      and not exists (select from event_delivery as delivery
                      where delivery.space_id = event.space_id and delivery.event_id = event.id
                        and delivery.state in ('waiting', 'dead'))
    order by at
    limit %(limit)s
)
delete from event using old where event.space_id = old.space_id and event.id = old.id;

-- name: forget_names
-- Take the names out of the events about what was forgotten.
update event set payload = payload || '{"subject": null}'::jsonb
where space_id = %(space)s and subject = any(%(subjects)s) and payload ->> 'subject' is not null;

-- name: erase_space
-- Erases every event of a space, and its deliveries with them.
delete from event where space_id = %(space)s;

-- name: scrub_words
-- Puts a mark in the place of forgotten words, in the fields of events that hold words.
update event e
set payload = e.payload || (
    select jsonb_object_agg(field.key, %(mark)s::text) from jsonb_each_text(e.payload) as field
    where field.key = any(%(fields)s) and field.value = any(%(words)s))
where e.space_id = %(space)s
  and exists (select from jsonb_each_text(e.payload) as field
              where field.key = any(%(fields)s) and field.value = any(%(words)s));
