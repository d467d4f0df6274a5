"""Where is the database, and what may be said about it aloud?

A database URL may hold a password. It is read here once, so that neither a wrong URL nor a message of libpq
can carry the password into a log line, an error or a page. Nothing here connects.
"""

from urllib.parse import quote, urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict

from festinger.errors import BadSetting

HIDDEN = "…"


def checked(url: str) -> str:
    """`url`, if it can be read as one; else `BadSetting`, which does not repeat it."""
    if "://" in url and urlsplit(url).netloc.count("@") > 1:
        # libpq would take the rest of the password for the host, and name it in its messages.
        raise BadSetting("The password in `database_url` has an `@`.", hint="Write it as `%40`.")
    try:
        conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # `from None`: the message of libpq repeats the whole text, password included.
        raise BadSetting(
            "`database_url` is not a Postgres URL.", hint="Write `postgresql://user:password@host:5432/name`."
        ) from None
    return url


def shown(url: str) -> str:
    """The database as it may be named to anybody: user, host, port and name."""
    parts = conninfo_to_dict(checked(url))
    host = parts.get("host") or parts.get("hostaddr") or "localhost"
    return f"{parts.get('user') or ''}@{host}:{parts.get('port') or 5432}/{parts.get('dbname') or ''}"


def without_password(text: str, url: str) -> str:
    """`text` with the password of `url` taken out, in whichever form it stands there."""
    password = str(conninfo_to_dict(url).get("password") or "")
    if not password:
        return text
    forms = {password, quote(password), quote(password, safe="")}
    # The longest first: a shorter form may be the beginning of a longer one.
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text
