-- Run once in a new cluster, one statement a line. The extension needs a superuser, so it comes with the
-- cluster; the application then works as an ordinary role that owns its database and nothing else.
create extension vector;
alter role postgres password :'password';
create role festinger login nosuperuser nocreatedb nocreaterole password :'password';
create database festinger owner festinger template template1;
revoke all on database festinger from public;
