"""The shape of a database as one list of lines, so that two can be compared.

Everything that a migration can make is in it: tables, columns, constraints, indexes, sequences, functions,
triggers, types, views, policies, extensions and comments. Order of making and internal numbers are not.
"""

from typing import Any

import psycopg

SHAPE = """
with mine as (
    select c.oid, c.relname, c.relkind, c.relrowsecurity from pg_class c
    where c.relnamespace = 'public'::regnamespace
      and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
), routines as (
    select p.oid, p.proname from pg_proc p
    where p.pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
)
select format('relation %s %s %s', relname, relkind, relrowsecurity) as line from mine
union all
select format('column %s.%s %s not null %s default %s identity %s generated %s', m.relname, a.attname,
              format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid),
              a.attidentity, a.attgenerated)
from mine m
join pg_attribute a on a.attrelid = m.oid and a.attnum > 0 and not a.attisdropped
left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where m.relkind in ('r', 'p', 'v', 'm')
union all
select format('constraint %s %s %s', m.relname, c.conname, pg_get_constraintdef(c.oid))
from mine m join pg_constraint c on c.conrelid = m.oid
union all
select 'index ' || pg_get_indexdef(i.indexrelid) from mine m join pg_index i on i.indrelid = m.oid
union all
select format('sequence %s %s %s %s %s', m.relname, s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqcycle)
from mine m join pg_sequence s on s.seqrelid = m.oid
union all
select format('view %s %s', relname, pg_get_viewdef(oid)) from mine where relkind in ('v', 'm')
union all
select 'trigger ' || pg_get_triggerdef(t.oid) from mine m join pg_trigger t on t.tgrelid = m.oid
where not t.tgisinternal
union all
select 'routine ' || pg_get_functiondef(oid) from routines
union all
select format('type %s %s', t.typname, array(select e.enumlabel from pg_enum e where e.enumtypid = t.oid order by e.enumsortorder))
from pg_type t
where t.typnamespace = 'public'::regnamespace and t.typtype in ('e', 'd')
  and not exists (select from pg_depend d where d.objid = t.oid and d.deptype = 'e')
union all
select format('type %s.%s %s', t.typname, a.attname, format_type(a.atttypid, a.atttypmod))
from pg_type t
join pg_class c on c.oid = t.typrelid and c.relkind = 'c'
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
where t.typnamespace = 'public'::regnamespace
union all
select format('policy %s %s %s %s %s', m.relname, p.polname, p.polcmd, pg_get_expr(p.polqual, p.polrelid),
              pg_get_expr(p.polwithcheck, p.polrelid))
from mine m join pg_policy p on p.polrelid = m.oid
union all
select format('comment %s.%s %s', m.relname, a.attname, d.description)
from mine m
join pg_description d on d.objoid = m.oid and d.classoid = 'pg_class'::regclass
left join pg_attribute a on a.attrelid = m.oid and a.attnum = d.objsubid and d.objsubid > 0
union all
select 'extension ' || extname || ' ' || extversion from pg_extension
"""


def shape(url: str) -> list[str]:
    """Every part of the database at `url`, sorted."""
    with psycopg.connect(url) as connection:
        rows: list[tuple[Any]] = connection.execute(SHAPE.encode()).fetchall()
    return sorted(line for (line,) in rows)
