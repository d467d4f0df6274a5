-- A cycle may also end in a thought or in nothing; which ends there are, the code says.
alter table agent_cycle drop constraint agent_cycle_action_check;
