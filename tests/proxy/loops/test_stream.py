"""The stream half of the loop test set: what must be caught, by which rule and how soon, and what must pass."""

import base64
import codecs
import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proxy.loops.histories import detect_in_text

from festinger.proxy.loops.stream import (
    LOOK_EVERY,
    RepetitionAllowance,
    RepetitionDetector,
    StreamFinding,
    StreamRule,
    StreamSeverity,
)
from festinger.settings.tree import StreamLoopSettings

SETTINGS = StreamLoopSettings()
PLAIN = RepetitionAllowance()

SENTENCE = "I should check the configuration file once more before I answer. "
MONOLOGUE = (
    "Let me think about this again.\nThe file is missing a bracket.\nSo I will read the file.\n"
    "The file looks fine to me.\nThat cannot be right, though.\n"
)
PARAGRAPH = "".join(f"Point {word} stands on its own and is about {word}ness. " for word in
    ("light", "dark", "sweet", "bitter", "loud", "quiet", "great", "small", "kind", "odd"))[:480]  # fmt: skip
SCATTERED = random.Random(3)
LONG_PARAGRAPH = "".join(" " if n % 6 == 5 else SCATTERED.choice("abcdefghijklmnop") for n in range(1_000))
HAN = "系统正在检查配置文件，请稍候片刻。如果问题仍然存在，请联系管理员处理。我们会尽快给您答复，谢谢您的耐心等待。"


def cut_in(text: str, allowance: RepetitionAllowance = PLAIN) -> StreamFinding | None:
    return next(
        (found for found in detect_in_text(text, SETTINGS, allowance) if found.severity is StreamSeverity.CUT), None
    )


def rules_in(text: str) -> set[StreamRule]:
    return {found.rule for found in detect_in_text(text, SETTINGS)}


# ---- must catch


@pytest.mark.requirement("P-66")
@pytest.mark.parametrize(
    "block", ["foo ", "<unused50>", "I'll try again ok ", SENTENCE, MONOLOGUE, PARAGRAPH, LONG_PARAGRAPH, HAN]
)
def test_a_reply_that_says_nothing_new_is_cut(block: str):
    found = cut_in(block * (20_000 // len(block)))

    assert found is not None
    assert found.rule is StreamRule.STALE
    assert found.at <= 2 * SETTINGS.stale_cut + 5 * len(block)


@pytest.mark.requirement("P-66")
def test_the_same_few_sentences_in_any_order_are_cut():
    chance = random.Random(11)
    stuck = [f"Wait, maybe the {word} is what I got wrong here." for word in ("input", "loop", "index", "type")]
    found = cut_in(" ".join(chance.choice(stuck) for _ in range(90)))

    assert found is not None
    assert found.rule is StreamRule.STALE


@pytest.mark.requirement("P-66")
@pytest.mark.parametrize("blank", ["\n", " ", "\n    \t"])
def test_nothing_but_blanks_is_cut_at_four_hundred(blank: str):
    found = cut_in("Here it comes:" + blank * 2_000)

    assert found is not None
    assert found.rule is StreamRule.BLANK
    assert 400 <= found.at <= 400 + 14 + LOOK_EVERY


@pytest.mark.requirement("P-66")
@pytest.mark.parametrize("character", ["!", "a", "\u200b", "哈"])
def test_one_character_over_and_over_is_cut(character: str):
    found = cut_in("So it goes on: " + character * 9_000)

    assert found is not None
    assert found.rule is StreamRule.RUN
    assert found.at <= SETTINGS.run_cut + 2 * LOOK_EVERY


@pytest.mark.requirement("P-66")
def test_repetition_with_new_names_is_noticed_at_the_end_and_never_cut():
    functions = "".join(
        f'def check_{name}(value):\n    """Checks the "{name}"."""\n    if value is None:\n'
        f'        raise ValueError("{name}")\n    return value\n\n'
        for name in (f"field_{n}" for n in range(40))
    )
    found = detect_in_text(functions, SETTINGS)

    assert [(one.rule, one.severity, one.at) for one in found] == [
        (StreamRule.DENSE, StreamSeverity.NOTICE, len(functions))
    ]


@pytest.mark.requirement("P-66")
@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_a_split_inside_characters_and_lines_changes_nothing(size: int):
    text = "Ein Überblick: 🦆 " + HAN * 90
    decode = codecs.getincrementaldecoder("utf-8")()
    detector = RepetitionDetector(SETTINGS, PLAIN)
    data = text.encode()
    for start in range(0, len(data), size):
        detector.feed(decode.decode(data[start : start + size]))
    detector.finish()

    assert detector.findings == detect_in_text(text, SETTINGS)
    assert detector.cut is not None


# ---- must pass

WORDS = (
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven", "inlet", "jetty", "knoll", "larch", "maple",
    "north", "ocean", "pearl", "quartz", "ridge", "stone", "thorn", "umber", "vapor", "willow", "xenon", "yarrow", "zephyr",
)  # fmt: skip
LICENCE = (
    "# Permission is granted to use this file for any purpose.\n# It comes without any warranty at all.\n"
    "# Keep this notice in every copy of the file.\n"
)


def listing(form: str, count: int = 26) -> str:
    return "".join(form.format(n=n, word=WORDS[n % 26], other=WORDS[n * 7 % 26]) for n in range(count))


def refrain() -> Iterator[str]:
    for n in range(8):
        yield f"The {WORDS[n]} bends where {WORDS[n + 9]} and {WORDS[n + 17]} have been,\n"
        yield f"and {WORDS[25 - n]} keeps the {WORDS[n + 3]} warm within.\n"
        yield "O sing it slowly, sing it low,\nthe river knows where we must go.\n\n"


MUST_PASS = {
    "recovery after three": SENTENCE * 3 + listing("The {word} is further away than the {other}. "),
    "table": "| id | name | price |\n|---|---|---|\n" + listing("| {n} | {word} | {n}.50 |\n", 60),
    "numbers in a table": "| a | b |\n|---|---|\n" + listing("| {n} | 12 |\n", 90),
    "licence headers": listing(
        LICENCE + "def {word}_of_{other}(given):\n    found = given.{other}.{word}\n"
        "    known = sorted(found, key={word}_rank)\n    return known[{n}:] or {other}\n\n"
    ),
    "shared prefix": listing("- The project directory contains the module {word} for the {other}.\n", 60),
    "repeated lines": "```python\n" + listing("    {word} = load('{other}')\n    counter += 1\n", 26) + "```\n",
    "json array": "[\n" + listing('  {{"id": {n}, "name": "{word}", "tags": ["{other}"]}},\n', 80) + "]\n",
    "dividers": listing("{word} and {other}\n" + "-" * 80 + "\n", 20),
    "poem": "".join(refrain()),
    "base64": base64.b64encode(random.Random(5).randbytes(300) + bytes(900)).decode(),
    "base64 in lines": base64.encodebytes(random.Random(5).randbytes(300) + bytes(2_000)).decode(),
    "hex": random.Random(5).randbytes(200).hex() + "00" * 600,
    "dot leaders": listing("{word} {other} " + "." * 60 + " {n}\n", 40),
    "counting": "".join(f"{n}\n" for n in range(4_000)),
    "step numbers": listing("Step {n}: verify the result of it.\n", 300),
    "inserts": listing("INSERT INTO users (id, name) VALUES ({n}, '{word}');\n", 300),
    "asserts": listing("    assert solve({n}) == {n}\n", 300),
    "styles": listing(".card-{n} {{\n  margin: 0 auto;\n  padding: 8px;\n  color: black;\n}}\n", 200),
    "services": listing("  worker-{n}:\n    image: app:latest\n    restart: always\n    command: run {n}\n", 200),
    "test results": listing("tests/test_{word}.py::test_{n} PASSED\n", 300),
    "dots of a test run": listing("." * 72 + " [{n}%]\n", 99),
    "zero matrix": ("0 " * 64 + "\n") * 64,
    "yes and no": " ".join(random.Random(1).choices(("True", "False"), k=2_000)),
    "a file shown twice": listing("def {word}_{n}(given):\n    return given.{other} + {n}\n\n", 200) * 2,
    "drawing": (" /\\_/\\ " * 9 + "\n" + "( o.o )" * 9 + "\n") * 60,
}  # fmt: skip


@pytest.mark.requirement("P-66", "P-67")
@pytest.mark.parametrize("name", MUST_PASS)
def test_honest_repetition_passes(name: str):
    assert cut_in(MUST_PASS[name]) is None


@pytest.mark.requirement("P-67")
@pytest.mark.parametrize(
    "allowance",
    [
        RepetitionAllowance(query="Please write it 400 times: I will not chew gum in class."),
        RepetitionAllowance(structured=True),
    ],
    ids=["asked for", "enforced format"],
)
def test_what_was_asked_for_is_not_cut(allowance: RepetitionAllowance):
    line = "I will not chew gum in class.\n"

    assert cut_in(line * 400) is not None
    assert detect_in_text(line * 400, SETTINGS, allowance) == ()
    assert cut_in("\n" * 500, allowance) is not None


@pytest.mark.requirement("P-67")
@pytest.mark.parametrize("opening", ['{"tool_name": "write", "tool_args": {"text": "', '```json\n{"text": "', '["'])
def test_an_object_that_a_program_reads_is_not_cut(opening: str):
    assert cut_in(opening + SENTENCE * 200) is None


# ---- however it is cut into chunks


@pytest.mark.requirement("P-66")
@given(
    blocks=st.lists(st.tuples(st.text("ab 1.\n\"'|`é", min_size=1, max_size=30), st.integers(1, 200)), max_size=6),
    sizes=st.lists(st.integers(1, 300), min_size=1, max_size=20),
)
def test_streaming_finds_what_the_whole_text_shows(blocks: list[tuple[str, int]], sizes: list[int]):
    text = "".join(block * count for block, count in blocks)
    detector = RepetitionDetector(SETTINGS, PLAIN)
    start = step = 0
    while start < len(text):
        detector.feed(text[start : start + sizes[step % len(sizes)]])
        start += sizes[step % len(sizes)]
        step += 1
    detector.finish()

    assert detector.findings == detect_in_text(text, SETTINGS)


@given(st.text(max_size=3_000))
def test_any_text_can_be_read(text: str):
    for found in detect_in_text(text, SETTINGS):
        assert 0 < found.at <= len(text)


def test_after_a_cut_nothing_more_is_said():
    detector = RepetitionDetector(SETTINGS, PLAIN)
    detector.feed(SENTENCE * 90)
    known = detector.findings
    detector.feed(SENTENCE * 50)

    assert detector.finish() == ()
    assert detector.findings == known


def test_the_bars_are_settings():
    patient = StreamLoopSettings(stale_cut=9_000)

    assert not any(found.severity is StreamSeverity.CUT for found in detect_in_text(SENTENCE * 90, patient))
    assert cut_in(SENTENCE * 90) is not None
