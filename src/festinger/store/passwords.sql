-- Gives both roles the password of the present config directory, one statement a line.
alter role postgres password :'password';
alter role festinger password :'password';
