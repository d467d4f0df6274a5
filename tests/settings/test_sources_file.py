"""What does the settings file say, and on which line?"""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from festinger.errors import BadInput, BadSetting
from festinger.settings.sources import MAX_BYTES, combine_layers, layer_from_entries, parse_entries, read_settings_file
from festinger.settings.tree import Settings

HERE = Path("festinger.yaml")


def read(text: str | bytes) -> dict[str, object]:
    content = text if isinstance(text, bytes) else text.encode()
    return {entry.name: entry.raw for entry in parse_entries(content, path=HERE)}


def test_sections_nest_and_values_stay_text():
    assert read("store:\n  pool_max: 012\nlog: {content: yes}\nserver:\n  hosts: [a, 'b']\n") == {
        "store": None,
        "store.pool_max": "012",
        "log": None,
        "log.content": "yes",
        "server": None,
        "server.hosts": ("a", "b"),
    }


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "---\n", "\ufeff"])
def test_an_empty_file_says_nothing(text: str):
    assert read(text) == {}


def test_each_entry_knows_its_line():
    found = parse_entries(b"# why\nstore:\n  pool_min: 1\n\n  pool_max: 2\n", path=HERE)

    assert [(entry.name, entry.line) for entry in found] == [("store", 2), ("store.pool_min", 3), ("store.pool_max", 5)]


@pytest.mark.requirement("F-28")
@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("embedding:\n  model: !!python/object/apply:os.system ['true']\n", "tag", 2),
        ("embedding:\n  model: !include other.yaml\n", "tag", 2),
        ("a: &x 1\n", "anchor", 1),
        ("store: &x {pool_max: 3}\nlog: *x\n", "anchor", 1),
        ("a:\n  b: &l [*l]\n", "anchor", 2),
        ("a: 1\na: 2\n", "same as line 1", 2),
        ("store: {pool_max: 3}\nlog: {}\nstore: {pool_min: 1}\n", "same as line 1", 3),
        ("a: 1\n---\nb: 2\n", "several documents", 2),
        ("- a\n- b\n", "no `key: value`", 1),
        ("just words\n", "no `key: value`", 1),
        ("a:\n  b:\n    c:\n      d:\n        e: 1\n", "too deeply", 5),
        ("a: [[1]]\n", "more than plain values", 1),
        ("? {a: b}\n: c\n", "key that is not text", 1),
        ("a: b: c\n", "not YAML", 1),
        ("a: [1\nb: 2\n", "not YAML", 2),
        ("\ta: 1\n", "not YAML", 1),
        (b"a: 1\nb: \xff\n", "not UTF-8", 2),
        ("a: \x07\n", "not YAML", None),
    ],
)
def test_what_is_not_plain_keys_and_values_is_refused_with_file_and_line(
    text: str | bytes, words: str, line: int | None
):
    with pytest.raises(BadSetting, match=words) as refused:
        read(text)

    assert refused.value.details["file"] == "festinger.yaml"
    if line:
        assert refused.value.details["line"] == line
        assert f"festinger.yaml:{line} " in refused.value.message


@pytest.mark.requirement("F-28")
def test_a_tag_is_refused_with_the_name_of_its_key():
    with pytest.raises(BadSetting, match=r"at `embedding\.model`"):
        read("embedding:\n  model: !!python/name:os.system\n")


@pytest.mark.requirement("F-28")
def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path):
    path = tmp_path / "festinger.yaml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))

    with pytest.raises(BadSetting, match="more than 256 KiB"):
        read_settings_file(path)


@pytest.mark.requirement("F-28")
def test_deep_nesting_ends_early_and_never_in_a_recursion():
    with pytest.raises(BadSetting):
        read("{a: " * 20_000)


@pytest.mark.parametrize("kind", ["missing", "folder"])
def test_a_named_file_that_is_no_file_is_refused(tmp_path: Path, kind: str):
    path = tmp_path / kind
    if kind == "folder":
        path.mkdir()

    with pytest.raises(BadSetting, match="is not a file"):
        read_settings_file(path)


@given(st.one_of(st.binary(max_size=300), st.text(alphabet="ab:{}[]&*!%-\n \"'#|>?,~<\t", max_size=80)))
@example(b"\xef\xbb\xbf")
@example("%YAML 9.9\n---\na: 1")
@example("store: {pool_max: |\n  3}")
def test_any_content_is_a_tree_or_a_named_refusal(content: str | bytes):
    data = content if isinstance(content, bytes) else content.encode()
    result: object = None
    try:
        result = combine_layers(layer_from_entries(parse_entries(data, path=HERE), place="f")).tree
    except BadInput as refused:
        result = refused
    assert isinstance(result, Settings | BadInput)
