"""Lists all setting keys, finds a key by name, and parses and formats values.

A `SettingKey` is a leaf of the tree with all that a page, a command or an error says about it. A person may
write its full name (`store.pool_max`), its bare name where that is unique, or an alias. Outside values arrive
as text and are parsed here by the declared type, so a value means the same in a file, a row, a variable and
an option.
"""

import difflib
import types
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel, ConfigDict, SecretStr, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from festinger.errors import BadSetting, UnknownSetting
from festinger.settings.tree import Settings

MAX_CHARS = 4096
"""Longest text of one value; the longest path that Linux opens."""

SHOWN_CHARS = 60
LAST_CHARS = 4
SHORT_SECRET = 12
"""A shorter secret does not even show its last characters."""

ALIASES = {"write_model_id": "llm.write", "resolve_model_id": "llm.resolve"}
"""Names from the first design that are still accepted."""

REMOVED = frozenset(
    {
        "judge.model",
        "metrics.space_label",
        "outcomes.surfacing_threshold",
        "store.cache_mb",
        *(f"proposals.{name}" for name in ("digest_schedule", "profile", "scopes", "tasks_visible_to_agent")),
        *(f"proposals.folder.{name}" for name in ("enabled", "path", "scan_seconds", "still_seconds")),
        *(f"retrieval.actr_{name}" for name in ("decay", "mismatch", "noise", "threshold")),
        *(f"retrieval.{name}" for name in ("alpha_cold", "alpha_mature", "cold_until", "mature_from", "prefilter")),
        *(f"retrieval.{name}" for name in ("mutation", "mutation_agents")),
    }
)
"""Settings of earlier versions. They are named as such, since the nearest spelling would mislead."""

MAX_ITEMS = 1000

NOTHING = ("", "~", "null", "none")

Raw = str | Sequence[str]
"""A value as given: one text, or the items of a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingKey:
    """A setting: its name, allowed values and purpose."""

    name: str
    meaning: str
    default: Any
    restart: bool
    per_space: bool
    early: bool
    secret: bool
    optional: bool
    is_list: bool
    allowed: str
    adapter: TypeAdapter[Any]

    @property
    def variable(self) -> str:
        return "FESTINGER_" + self.name.replace(".", "__").upper()

    @property
    def when(self) -> str:
        return "restart" if self.restart else "live"


def parse_value(key: SettingKey, raw: Raw) -> Any:
    """Parse `raw` for this key; raise `BadSetting` saying what is wrong with it."""
    given = [raw] if isinstance(raw, str) else list(raw)
    if any(_is_unprintable_or_long(text) for text in given):
        raise BadSetting(f"has control characters or more than {MAX_CHARS} characters")
    if key.is_list:
        items = raw.split(",") if isinstance(raw, str) else given
        if len(items) > MAX_ITEMS:
            raise BadSetting(f"has more than {MAX_ITEMS} items")
        return _validate_value(key, tuple(item.strip() for item in items if item.strip()))
    if not isinstance(raw, str):
        raise BadSetting("is a list, but one value is expected")
    text = raw.strip()
    if key.optional and text.lower() in NOTHING:
        return None
    return _validate_value(key, text)


def _validate_value(key: SettingKey, value: object) -> Any:
    try:
        return key.adapter.validate_python(value)
    except ValidationError as error:
        # Pydantic's error quotes its input, which may be a secret, so it is dropped.
        raise BadSetting(f"must be {key.allowed}") from (None if key.secret else error)


def _is_unprintable_or_long(text: str) -> bool:
    return len(text) > MAX_CHARS or any(unicodedata.category(char) in ("Cc", "Cs") for char in text.strip())


def format_value(key: SettingKey, value: Any) -> str:
    """Format a value for display; of a secret, show only the end."""
    if value is None:
        return ""
    if isinstance(value, SecretStr):
        plain = value.get_secret_value()
        return "set" if len(plain) < SHORT_SECRET else f"set (…{plain[-LAST_CHARS:]})"
    if key.secret:
        return "set"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value)


def shorten_for_message(raw: Raw) -> str:
    """Shorten what was given for a one-line message."""
    text = raw if isinstance(raw, str) else ", ".join(raw)
    flat = "".join(char if char.isprintable() else "�" for char in text[: SHOWN_CHARS + 1])
    return flat if len(flat) <= SHOWN_CHARS else flat[:SHOWN_CHARS] + "…"


def value_at(tree: BaseModel, name: str) -> Any:
    found: Any = tree
    for part in name.split("."):
        found = getattr(found, part)
    return found


def find_setting_key(name: str) -> SettingKey:
    """Return the key that a person means by `name`, or raise `UnknownSetting` with the nearest one."""
    full = ALIASES.get(name, name)
    if full in KEYS:
        return KEYS[full]
    homes = BARE.get(full, ())
    if len(homes) == 1:
        return KEYS[homes[0]]
    if homes:
        listed = ", ".join(f"`{home}`" for home in homes)
        raise UnknownSetting(f"`{name}` is a setting of several sections: {listed}.", key=name)
    if full in REMOVED:
        raise UnknownSetting(f"`{full}` is no longer a setting; remove it.", key=full, nearest=None)
    near = nearest_name(full)
    question = f": did you mean `{near}`?" if near else "."
    raise UnknownSetting(
        f"`{shorten_for_message(name)}` is not a setting{question}", key=shorten_for_message(name), nearest=near
    )


def nearest_name(name: str) -> str | None:
    """Return the known key most similar to `name`, if there is one."""
    # Long names are cut: matching takes time quadratic in the length.
    wanted = name[:80].lower()
    full = difflib.get_close_matches(wanted, KEYS, n=1, cutoff=0.6)
    if full:
        return full[0]
    bare = difflib.get_close_matches(wanted.rpartition(".")[2], BARE, n=1, cutoff=0.75)
    return BARE[bare[0]][0] if bare else None


def _iterate_leaf_fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _iterate_leaf_fields(inner, f"{prefix}{name}.")
        else:
            yield prefix + name, field


def _key(name: str, field: FieldInfo) -> SettingKey:
    flags = field.json_schema_extra
    if not field.description or not isinstance(flags, dict):
        raise TypeError(f"`{name}` was not declared with `key(…)`")
    inner, optional = _strip_optional(field.annotation)
    annotated: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    return SettingKey(
        name=name,
        meaning=field.description,
        default=field.get_default(call_default_factory=True, validated_data={}),
        restart=bool(flags["restart"]),
        per_space=bool(flags["per_space"]),
        early=bool(flags["early"]),
        secret=inner is SecretStr,
        optional=optional,
        is_list=get_origin(inner) is tuple,
        allowed=str(flags["allowed"] or _allowed(inner, field.metadata)) + (" or empty" if optional else ""),
        adapter=TypeAdapter(annotated, config=ConfigDict(allow_inf_nan=False)),
    )


def _strip_optional(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) not in (Union, types.UnionType):
        return annotation, False
    inner = [choice for choice in get_args(annotation) if choice is not type(None)]
    first = inner[0]
    return (get_args(first)[0] if get_origin(first) is Annotated else first), len(inner) < len(get_args(annotation))


_WORDS: Mapping[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    SecretStr: "a secret text",
}


def _allowed(inner: Any, bounds: Sequence[Any]) -> str:
    """Describe the allowed values."""
    if get_origin(inner) is Literal:
        return " or ".join(f"`{choice}`" for choice in get_args(inner))
    if get_origin(inner) is tuple:
        return "texts with commas between"
    low = next((bound.ge for bound in bounds if isinstance(bound, annotated_types.Ge)), None)
    high = next((bound.le for bound in bounds if isinstance(bound, annotated_types.Le)), None)
    words = _WORDS[inner]
    if low is not None and high is not None:
        return f"{words} from {low} to {high}"
    return words if low is None else f"{words} from {low} on"


KEYS: Mapping[str, SettingKey] = {name: _key(name, field) for name, field in _iterate_leaf_fields(Settings)}
"""Every key by its full name, in the order of the tree."""

SECTIONS = frozenset(name.rpartition(".")[0] for name in KEYS) - {""}


def _group_by_bare_name() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name in KEYS:
        bare = name.rpartition(".")[2]
        found[bare] = (*found.get(bare, ()), name)
    return found


BARE: Mapping[str, tuple[str, ...]] = _group_by_bare_name()
"""Full names by bare name."""
