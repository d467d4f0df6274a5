-- What the environment and the command line of each process have the last word on.
alter table run add column pins text[] not null default '{}';
comment on column run.pins is 'names of the settings that the table cannot change for it';
