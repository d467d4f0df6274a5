-- The hooks of coding agents have keys of their own, which may only recall, brief and capture.
alter table api_key add constraint api_key_role_known
    check (role in ('proxy', 'hook', 'agent', 'reviewer', 'admin'));
