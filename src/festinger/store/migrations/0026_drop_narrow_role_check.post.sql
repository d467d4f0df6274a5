-- It knew no hooks; the check on the same column that came before this one does.
alter table api_key drop constraint api_key_role_check;
