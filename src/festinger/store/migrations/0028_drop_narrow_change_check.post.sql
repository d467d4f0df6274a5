-- It knew no annotations; the check on the same column that came before this one does.
alter table memory_change drop constraint memory_change_op_check;
