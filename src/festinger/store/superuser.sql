-- Lets the superuser of a fresh cluster in, one statement a line.
alter role postgres password :'password';
