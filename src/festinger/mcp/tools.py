"""Defines the tools: one table with names, arguments, descriptions and what each does.

A tool asks the admin API, so that it answers alike in the server and in a bridge to it. Arguments are scalars;
lists may come as "a, b" or as lists. What a tool shows is sanitized, and notes of untrusted origin are fenced
as data. No tool decides, settles or forgets anything.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from festinger.clock import read_moment
from festinger.errors import BadInput
from festinger.ids import Origin, prefix
from festinger.services.block import sanitize_line

API = "/admin/api"
RECALL_TOKENS = 1500
"""A result has its notes twice, as text and as fields, and stays below 4,000 tokens."""
TEXT_CHARS = 600
MOST_LISTED = 8
UNTRUSTED = (Origin.TOOL, Origin.DOCUMENT)
FACT = re.compile(r"\s-(?:isa|ispart)\s")

Document = dict[str, Any]


class AdminPort(Protocol):
    """The admin API, as the agent of the client."""

    @property
    def as_agent(self) -> dict[str, str]:
        """The query that names the agent."""

    async def ask(self, method: str, path: str, *, body: Any = None, **query: str) -> Any:
        """Send a request and return the JSON response. Raises the error that it names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """What a tool answers: fields for programs, and a short text."""

    fields: Document
    text: str


Arguments = Mapping[str, Any]
RunTool = Callable[[AdminPort, Arguments], Awaitable[ToolAnswer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    name: str
    description: str
    arguments: Mapping[str, str]
    """The JSON type of each argument, with a `!` if it is required, and what it means."""
    run: RunTool
    reads_only: bool = False
    is_idempotent: bool = False

    @property
    def schema(self) -> Document:
        """The JSON schema of the arguments."""
        properties = {}
        for name, said in self.arguments.items():
            kind, _, meaning = said.partition(" ")
            properties[name] = {"type": kind.rstrip("!")} | ({"description": meaning} if meaning else {})
        required = [name for name, said in self.arguments.items() if said.partition(" ")[0].endswith("!")]
        return {"type": "object", "properties": properties, "required": required}

    def parse(self, given: Arguments) -> Document:
        """The arguments as texts and whole numbers; empty ones are left out. Raises `BadInput`."""
        if unknown := [name for name in given if name not in self.arguments]:
            raise BadInput(f"`{self.name}` has no argument `{unknown[0][:40]}`.", hint=self._hint)
        parsed = {name: _parse(name, said, given[name]) for name, said in self.arguments.items() if name in given}
        kept = {name: value for name, value in parsed.items() if value not in (None, "")}
        if missing := [name for name in self.schema["required"] if name not in kept]:
            raise BadInput(f"`{self.name}` needs `{missing[0]}`.", hint=self._hint)
        return kept

    @property
    def _hint(self) -> str:
        return f"The arguments are {', '.join(f'`{name}`' for name in self.arguments)}."


def _parse(name: str, said: str, value: Any) -> Any:
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    if value is None or isinstance(value, dict | bool):
        if value is None:
            return None
        raise BadInput(f"`{name}` must be a text.")
    if not said.startswith("integer"):
        return str(value).strip()
    try:
        return int(value)
    except ValueError as error:
        raise BadInput(f"`{name}` must be a whole number.") from error


async def recall(client: AdminPort, given: Arguments) -> ToolAnswer:
    since = {"since": read_moment(_add_zone(given["since"])).isoformat()} if "since" in given else {}
    body = {"cue": given["cue"], "limit": given.get("limit", 5), "tokens": RECALL_TOKENS, **since}
    found = await client.ask("POST", f"{API}/recall", body=body, **client.as_agent)
    notes = [
        {
            "id": item["id"],
            "text": fence_untrusted_text(item["text"], item["origin"]),
            "day": (item["event_time"] or item["learned_at"])[:10],
            "origin": item["origin"],
            "disputed": item["disputed"],
        }
        for item in found["items"]
    ]
    lines = [
        f"- {note['text']} ({note['day']}, {note['origin']}{', disputed' if note['disputed'] else ''}, {note['id']})"
        for note in notes
    ]
    below = found["below_threshold"]
    text = (
        "\n".join([f"recall {found['id']}", *lines])
        if lines
        else f"nothing relevant remembered ({below} below the bar)"
    )
    return ToolAnswer(fields={"recall": found["id"], "notes": notes, "below": below}, text=text)


def _add_zone(moment: str) -> str:
    """Take a day, or a time without a zone, as UTC."""
    if re.fullmatch(r"\d{4}-\d\d-\d\d", moment):
        return f"{moment}T00:00:00Z"
    return moment if re.search(r"(?:Z|[+-]\d\d:?\d\d)$", moment) else f"{moment}Z"


async def learn(client: AdminPort, given: Arguments) -> ToolAnswer:
    if FACT.search(f" {given['text']} "):
        placed = await client.ask("POST", f"{API}/iknowthat", body={"fact": given["text"]}, **client.as_agent)
        existing = (placed.get("conflict") or {}).get("existing") or {}
        against = f"; contradicts {existing['parent']}" if existing else ""
        return ToolAnswer(fields=placed, text=f"{placed['status']}: {sanitize_line(given['text'])}{against}")
    body = {"text": given["text"], "subject": given.get("about"), "kind": given.get("kind", "fact")}
    learned = await client.ask("POST", f"{API}/memories", body=body, **client.as_agent)
    memory = learned["memory"] or {}
    contradicted = [each["id"] for each in learned["matched"] if each["relation"] == "contradicts"]
    others = {
        "replaces": learned["superseded"],
        "contradicts": contradicted if learned["action"] == "conflicted" else [],
    }
    shown = {name: [await _show(client, each) for each in ids[:MOST_LISTED]] for name, ids in others.items() if ids}
    lines = [f"{name}: {each['text']} ({each['id']})" for name, each_of in shown.items() for each in each_of]
    fields = {
        "action": learned["action"],
        "id": memory.get("id"),
        "text": sanitize_line(memory.get("content", ""))[:TEXT_CHARS],
        "said": learned["said"],
        "conflict": learned["conflict"],
        **shown,
    }
    return ToolAnswer(fields=fields, text="\n".join([learned["said"] or learned["action"], *lines]))


async def _show(client: AdminPort, memory: str) -> Document:
    found = await client.ask("GET", memory_path(memory), **client.as_agent)
    return _summarize_memory(found)


async def observe(client: AdminPort, given: Arguments) -> ToolAnswer:
    outcomes = {
        each: name
        for name in ("acted", "used", "dismissed", "contradicted")
        for each in split_list(given.get(name, ""))
    }
    body = {"recall": given["recall"], "outcomes": outcomes}
    if agent := client.as_agent.get("agent"):
        body["partition"] = agent
    done = await client.ask("POST", f"{API}/outcomes", body=body, **client.as_agent)
    moved = {
        each: {"outcome": effect["outcome"], "confidence": effect["confidence"]}
        for each, effect in done["effects"].items()
    }
    lines = [
        "{}: {}, confidence {:.2f} -> {:.2f}".format(each, effect["outcome"], *effect["confidence"])
        for each, effect in moved.items()
    ]
    return ToolAnswer(
        fields={"moved": moved, "skipped": done["skipped"], "edges": done["edges"]},
        text="\n".join(lines) or "nothing moved",
    )


async def why(client: AdminPort, given: Arguments) -> ToolAnswer:
    found = await client.ask("GET", memory_path(given["id"], "why"), **client.as_agent)
    said = [
        {
            "day": each["day"],
            "origin": each["origin"],
            "agent": each["agent"],
            "text": fence_untrusted_text(each["wording"], each["origin"]),
        }
        for each in found["said"][:MOST_LISTED]
    ]
    fields = {
        **_summarize_memory(found["memory"]),
        "status": found["memory"]["status"],
        "confidence": found["memory"]["confidence"],
        "said": said,
        "derives_from": [_summarize_memory(each) for each in found["derives_from"][:MOST_LISTED]],
        "supersedes": [_summarize_memory(each) for each in found["supersedes"][:MOST_LISTED]],
        "superseded_by": _summarize_memory(found["superseded_by"]) if found["superseded_by"] else None,
        "outcomes": len(found["outcomes"]),
        "changes": [{"op": each["op"], "at": each["at"], "by": each["by"]} for each in found["changes"][:MOST_LISTED]],
    }
    lines = [f"{fields['text']} ({fields['status']}, confidence {fields['confidence']:.2f})"]
    lines += [f"said on {each['day']} by {each['origin']} ({each['agent']})" for each in said]
    lines += [f"{name}: {each['text']}" for name in ("derives_from", "supersedes") for each in fields[name]]
    return ToolAnswer(fields=fields, text="\n".join(lines))


async def brief(client: AdminPort, given: Arguments) -> ToolAnswer:
    found = await client.ask("GET", f"{API}/brief", **given, **client.as_agent)
    notes = [each | {"text": fence_untrusted_text(each["text"], each["origin"])} for each in found["notes"]]
    return ToolAnswer(
        fields={"notes": notes, "omitted": found["omitted"]}, text=found["text"] or "nothing is known of this yet"
    )


async def propose_to_person(client: AdminPort, given: Arguments) -> ToolAnswer:
    if ids := split_list(given.get("forget", "")):
        reason = " ".join([given["what"], given.get("why", "")]).strip()
        made = [
            await client.ask("POST", memory_path(each, "request-forget"), body={"reason": reason}, **client.as_agent)
            for each in ids[:MOST_LISTED]
        ]
    else:
        body = {"what": given["what"], "why": given.get("why", ""), "category": CATEGORY, "scope": SCOPE}
        made = [await client.ask("POST", f"{API}/proposals", body=body, **client.as_agent)]
    proposals = [{"id": each["proposal"]["id"], "state": each["proposal"]["state"]} for each in made]
    lines = [f"proposal {each['id']} ({each['state']}): a person decides" for each in proposals]
    return ToolAnswer(fields={"proposals": proposals}, text="\n".join(lines))


def fence_untrusted_text(text: str, origin: str) -> str:
    """A text that cannot speak in another role; one that nobody vouches for is marked as data."""
    plain = sanitize_line(text)
    plain = plain if len(plain) <= TEXT_CHARS else f"{plain[: TEXT_CHARS - 1]}…"
    return f"<data origin={origin}>{plain}</data>" if origin in UNTRUSTED else plain


def split_list(text: str) -> Sequence[str]:
    """The items of "a, b"; brackets and quotes of a list that became a text are ignored."""
    return list(_items(text))


def _items(text: str) -> Iterator[str]:
    for each in text.strip("[] \n").split(","):
        if item := each.strip().strip("'\""):
            yield item


def memory_path(memory: str, *parts: str) -> str:
    """The path of a memory by its id or a prefix of it. Raises `BadInput`."""
    return "/".join((API, "memories", prefix(memory), *parts))


def _summarize_memory(memory: Document) -> Document:
    return {
        "id": memory["id"],
        "text": fence_untrusted_text(memory["content"], memory["origin"]),
        "origin": memory["origin"],
        "day": memory["created_at"][:10],
    }


CATEGORY, SCOPE = "knowledge", "memory"

TOOLS: Sequence[ToolSpec] = (
    ToolSpec(
        name="recall",
        description="Search long-term memory before answering about people, projects or past decisions.",
        arguments={"cue": "string! question or topic", "limit": "integer default 5", "since": "string date"},
        run=recall,
        reads_only=True,
    ),
    ToolSpec(
        name="learn",
        description="Remember one lasting statement. Tells whether it is new, known, replaces or contradicts another."
        " `X -isa Y` states a fact of the world.",
        arguments={
            "text": "string! one self-contained sentence",
            "about": "string person or thing",
            "kind": "string fact, preference, procedural, correction or insight",
        },
        run=learn,
        is_idempotent=True,
    ),
    ToolSpec(
        name="observe",
        description="After answering, report what became of recalled notes, as comma-separated ids.",
        arguments={
            "recall": "string! id of the recall",
            "acted": "string",
            "used": "string",
            "dismissed": "string",
            "contradicted": "string",
        },
        run=observe,
    ),
    ToolSpec(
        name="why",
        description="Who said a note, when, and what it rests on.",
        arguments={"id": "string!"},
        run=why,
        reads_only=True,
    ),
    ToolSpec(
        name="brief",
        description="Overview at the start of work: boundaries, disputes, decisions, preferences, last episodes.",
        arguments={"topic": "string person, project or thing"},
        run=brief,
        reads_only=True,
    ),
    ToolSpec(
        name="ask_person",
        description="Propose something that only a person may decide, such as settling a dispute or forgetting notes.",
        arguments={"what": "string!", "why": "string", "forget": "string ids of notes"},
        run=propose_to_person,
    ),
)
