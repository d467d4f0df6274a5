import json
import zipfile
from pathlib import Path

import pytest

from festinger.errors import BadInput
from festinger.services.import_formats import (
    find_markdown_files,
    format_markdown,
    parse_chatgpt_conversation,
    parse_markdown,
    parse_mem0,
    read_chatgpt_export,
)

NOTES = """---
tags: [work, "#ops"]
---
# Project
Read me first:

The API listens
on port 8080.

<!-- hidden
note -->
## Build ##
- Use **pnpm**, not npm
  and never yarn
- [x] See [[Staging|the staging notes]]
1. Deploy on Friday
```sh
# not a heading
rm -rf dist
```
| a | b |
---
@docs/more.md
> Quoted words stand alone.
"""


@pytest.mark.requirement("I-41")
def test_a_heading_is_the_subject_and_items_and_paragraphs_are_statements():
    found = [(number, each["subject"], each["text"]) for number, each in parse_markdown(NOTES, title="CLAUDE")]

    assert found == [
        (7, "Project", "The API listens on port 8080."),
        (13, "Build", "Use pnpm, not npm and never yarn"),
        (15, "Build", "See the staging notes"),
        (16, "Build", "Deploy on Friday"),
        (24, "Build", "Quoted words stand alone."),
    ]


def test_front_matter_gives_the_tags_and_a_file_without_headings_its_name():
    tagged = list(parse_markdown(NOTES, title="CLAUDE"))
    [(_, bare)] = parse_markdown("Ann keeps bees", title="People")
    [(_, broken)] = parse_markdown("---\ntags: [a\n---\nAnn keeps bees", title="People")

    assert {tuple(each["tags"]) for _, each in tagged} == {("work", "ops")}
    assert bare == broken == {"text": "Ann keeps bees", "subject": "People"}


def test_of_a_folder_all_notes_are_read_but_those_of_its_program(tmp_path: Path):
    for name in ("b.md", "deep/a.md", ".obsidian/x.md", "c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")

    assert [str(each.relative_to(tmp_path)) for each in find_markdown_files(tmp_path)] == ["b.md", "deep/a.md"]


@pytest.mark.requirement("I-41")
def test_what_is_written_as_notes_is_read_as_the_same_statements():
    memories: list[dict[str, object]] = [
        {"subject": "server", "content": "It has 32 GB"},
        {"subject": None, "content": "Copper is a\nmetal"},
    ]

    read = [each for _, each in parse_markdown(format_markdown(memories, title="All"), title="x")]

    assert read == [{"text": "Copper is a metal", "subject": "All"}, {"text": "It has 32 GB", "subject": "server"}]


@pytest.mark.parametrize("wrap", [lambda found: found, lambda found: {"results": found}])
def test_memories_of_mem0_come_with_their_categories(wrap):
    listed = [{"id": "1", "memory": "Likes tea", "categories": ["food"], "user_id": "ann"}, {"id": "2"}, 3]

    found = list(parse_mem0(json.dumps(wrap(listed))))

    assert found == [(1, {"text": "Likes tea", "tags": ["food"]}), (2, {"text": None}), (3, {"text": None})]


def node(name: str, parent: str | None, role: str, text: str, at: float = 1.0, **more: object) -> dict[str, object]:
    content = {"content_type": "text", "parts": [text]}
    return {
        "id": name,
        "parent": parent,
        "message": {"author": {"role": role}, "create_time": at, "content": content} | more,
    }


def talk(title: str, *nodes: dict[str, object], current: str) -> dict[str, object]:
    return {
        "conversation_id": title,
        "title": title,
        "current_node": current,
        "mapping": {each["id"]: each for each in nodes},
    }


CHAT = talk(
    "Move",
    {"id": "root", "parent": None, "message": None},
    node("s", "root", "system", "You are helpful"),
    node("u", "s", "user", "I live in Lund"),
    node("other", "u", "assistant", "Regenerated away"),
    node("a", "u", "assistant", "Noted", 2.0),
    node("t", "a", "tool", "result"),
    node("h", "t", "user", "profile", metadata={"is_visually_hidden_from_conversation": True}),
    current="h",
)


@pytest.mark.requirement("I-41")
def test_of_a_conversation_the_current_path_is_read_without_tools_and_system():
    read = parse_chatgpt_conversation(CHAT)

    assert [(each["role"], each["content"], each["at"][:19]) for each in read["turns"]] == [
        ("user", "I live in Lund", "1970-01-01T00:00:01"),
        ("assistant", "Noted", "1970-01-01T00:00:02"),
    ]
    assert read == parse_chatgpt_conversation(CHAT)


def test_conversations_come_oldest_first_from_the_zip_or_the_file(tmp_path: Path):
    older = talk("Older", node("u", None, "user", "Hello", 0.5), current="u")
    plain = tmp_path / "conversations.json"
    plain.write_text(json.dumps([CHAT, older]))
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as export:
        export.write(plain, "conversations.json")

    assert [each["title"] for each in read_chatgpt_export(plain)] == ["Older", "Move"]
    assert read_chatgpt_export(tmp_path / "export.zip") == read_chatgpt_export(plain)


@pytest.mark.parametrize("text", ["{", '{"a": 1}', "[1]"])
def test_what_is_no_export_is_refused(text: str, tmp_path: Path):
    file = tmp_path / "conversations.json"
    file.write_text(text)

    with pytest.raises(BadInput):
        read_chatgpt_export(file)
    with pytest.raises(BadInput):
        list(parse_mem0(text.replace("[1]", "1")))


def test_a_ring_of_messages_ends():
    ring = talk("Ring", node("a", "b", "user", "One"), node("b", "a", "user", "Two"), current="a")

    assert [each["content"] for each in parse_chatgpt_conversation(ring)["turns"]] == ["Two", "One"]
