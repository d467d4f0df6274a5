"""Renders `docs/reference/settings.md` from the settings tree.

A test compares the page with the code, so that it cannot lag behind. Run as a module, it writes to stdout.
"""

import sys
from collections.abc import Iterable
from itertools import groupby

from festinger.settings.keys import KEYS, SettingKey, format_value

HEAD = """\
# Settings

Each setting has a default. It can be set, from the weakest source to the strongest, in

1. a YAML file: `--config FILE`, else `FESTINGER_CONFIG`, else `./festinger.yaml`, else `~/.config/festinger/config.yaml`;
2. the console, the API or `festinger settings set`, which keep it in the database;
3. the environment: `FESTINGER_` and the path with `__`, such as `FESTINGER_STORE__POOL_MAX=20`;
4. the command line.

What the environment or the command line sets is pinned: the console and the API cannot change it.
A *live* setting is in force at once when it changes, a *restart* one after the next start. Settings marked
*early* are read before the database is open and cannot be kept in it; neither can secrets. Those marked
*per space* may have another value in each space. An unknown name anywhere is refused with the nearest known
one, and a bad edit of a running process changes nothing.

Four variables are no settings: `FESTINGER_CONFIG` names the file, `FESTINGER_SECRET_KEY` holds the master
key, `FESTINGER_KEY` is the key that commands show to another server (`--server`), and `FESTINGER_NO_BROWSER` keeps
commands from opening a browser.
"""


def settings_page() -> str:
    """Return the whole page."""
    sections = groupby(KEYS.values(), key=lambda key: key.name.partition(".")[0] if "." in key.name else "")
    return HEAD + "".join(_section(name, keys) for name, keys in sections)


def _section(name: str, keys: Iterable[SettingKey]) -> str:
    title = f"`{name}`" if name else "General"
    return f"\n## {title}\n\n| key | default | may be | in force | meaning |\n|---|---|---|---|---|\n" + "".join(
        _row(key) for key in keys
    )


def _row(key: SettingKey) -> str:
    default = format_value(key, key.default)
    marks = [key.when, *(["early"] if key.early else []), *(["per space"] if key.per_space else [])]
    cells = [f"`{key.name}`", f"`{default}`" if default else "–", key.allowed, ", ".join(marks), key.meaning]
    return "| " + " | ".join(cells) + " |\n"


if __name__ == "__main__":
    sys.stdout.write(settings_page())
