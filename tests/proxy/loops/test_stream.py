"""The stream half of the loop test set: what must be caught, by which rule and how soon, and what must pass."""

import base64
import codecs
import json
import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proxy.loops.finding import Finding, Severity, StreamRule
from festinger.proxy.loops.restraint import Allowance
from festinger.proxy.loops.stream import LOOK_EVERY, Detector, findings_in
from festinger.settings.tree import StreamLoopSettings

SETTINGS = StreamLoopSettings()
PLAIN = Allowance()

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


def cut_in(text: str, allowance: Allowance = PLAIN) -> Finding | None:
    return next(
        (found for found in findings_in(text, SETTINGS, allowance) if found.severity is Severity.CUT), None
    )


def rules_in(text: str) -> set[StreamRule]:
    return {found.rule for found in findings_in(text, SETTINGS)}


# ---- must catch


@pytest.mark.requirement("P-66")
@pytest.mark.parametrize(
    ("block", "most"),
    [
        ("foo ", 700),
        ("<unused50>", 700),
        ("I'll try again ok ", 700),
        (SENTENCE, 700),
        (MONOLOGUE, 6 * len(MONOLOGUE)),
        ("142857", 700),
        ("The test fails here. The build is fine now. ", 700),
        (PARAGRAPH, 6 * len(PARAGRAPH)),
        (LONG_PARAGRAPH, 6 * len(LONG_PARAGRAPH)),
        (HAN, 700),
    ],
)
def test_an_exact_loop_is_cut_by_its_period(block: str, most: int):
    found = cut_in(block * (20_000 // len(block)))

    assert found is not None
    assert found.rule is StreamRule.PERIOD
    assert found.at <= most + LOOK_EVERY


@pytest.mark.requirement("P-66")
@pytest.mark.parametrize("blank", ["\n", " ", "\n    \t"])
def test_nothing_but_blanks_is_cut_at_four_hundred(blank: str):
    found = cut_in("Here it comes:" + blank * 2_000)

    assert found is not None
    assert found.rule is StreamRule.BLANK
    assert 400 <= found.at <= 400 + 14 + LOOK_EVERY


@pytest.mark.requirement("P-66")
@pytest.mark.parametrize("form", ["Step {}: verify the result of it.\n", "{}. Item number {} of this list\n"])
def test_counting_on_without_content_is_cut_within_twenty_three_items(form: str):
    text = "".join(form.format(n, n) for n in range(1, 200))
    found = cut_in(text)

    assert found is not None
    assert found.rule is StreamRule.COUNTER
    assert text[: found.at].count("\n") <= 23


@pytest.mark.requirement("P-66")
def test_the_same_few_sentences_in_any_order_are_noticed_within_twenty():
    chance = random.Random(11)
    stuck = [
        f"Wait, maybe the {word} is what I got wrong here." for word in ("input", "loop", "index", "type")
    ]
    text = " ".join(chance.choice(stuck) for _ in range(60)) + " "
    found = next(found for found in findings_in(text, SETTINGS) if found.rule is StreamRule.SENTENCES)

    assert text[: found.at].count(".") <= 20 + 1


@pytest.mark.requirement("P-66")
@pytest.mark.parametrize(
    "text",
    [
        "".join(
            f'def check_{name}(value):\n    """Checks the "{name}"."""\n    if value is None:\n'
            f'        raise ValueError("{name}")\n    return value\n\n'
            for name in (f"field_{n}" for n in range(40))
        ),
        "".join(f"    assert solve({n * 7 % 13}, {n * 5 % 11}) == {n * n % 17}\n" for n in range(60)),
    ],
    ids=["functions", "tests"],
)
def test_one_shape_with_new_names_or_numbers_is_noticed(text: str):
    assert rules_in(text) & {StreamRule.SHAPE, StreamRule.NGRAM}


@pytest.mark.requirement("P-66")
def test_a_loop_in_one_channel_is_found_there_and_leaves_the_others_alone():
    thinking, text = Detector(SETTINGS, PLAIN), Detector(SETTINGS, PLAIN)
    thinking.feed(SENTENCE * 30)
    text.feed("The answer is 42, because the two halves of the sum are 40 and 2. " + LONG_PARAGRAPH)

    assert thinking.cut is not None
    assert thinking.cut.rule is StreamRule.PERIOD
    assert text.findings == ()


@pytest.mark.requirement("P-66")
def test_repeated_json_of_a_tool_call_is_cut_too():
    arguments = Detector(SETTINGS, PLAIN)
    arguments.feed('{"path": "/srv/app/config.yaml", "mode": "read"}' * 40)

    assert arguments.cut is not None
    assert arguments.cut.rule is StreamRule.PERIOD
    assert arguments.cut.count >= 10


@pytest.mark.requirement("P-66")
@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_a_split_inside_characters_and_lines_changes_nothing(size: int):
    text = "Ein Überblick: 🦆 " + HAN * 30
    decode = codecs.getincrementaldecoder("utf-8")()
    detector = Detector(SETTINGS, PLAIN)
    data = text.encode()
    for start in range(0, len(data), size):
        detector.feed(decode.decode(data[start : start + size]))
    detector.finish()

    assert detector.findings == findings_in(text, SETTINGS)
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
}  # fmt: skip


@pytest.mark.requirement("P-66", "P-67")
@pytest.mark.parametrize("name", MUST_PASS)
def test_honest_repetition_passes(name: str):
    assert cut_in(MUST_PASS[name]) is None


@pytest.mark.requirement("P-67")
def test_what_a_person_asked_for_is_not_cut():
    asked = Allowance(wish="Please write it 40 times: I will not chew gum in class.")
    line = "I will not chew gum in class.\n"

    assert asked.asked == 40
    assert findings_in(line * 40, SETTINGS, asked) == ()
    assert cut_in(line * 49, asked) is None
    assert cut_in(line * 60, asked) is not None


@pytest.mark.requirement("P-67")
def test_code_and_enforced_formats_are_cut_only_from_the_tenth_repeat_on():
    line = "print(longest_substring('abcabcefghijklmnop'), flush=True)\n"
    fenced = "Sure:\n```python\n" + line * 9

    assert cut_in("Sure:\n" + line * 9) is not None
    assert cut_in(fenced) is None
    assert cut_in(fenced + line * 3) is not None
    assert cut_in(line * 9, Allowance(structured=True)) is None
    assert cut_in(line * 12, Allowance(structured=True)) is not None


@pytest.mark.requirement("P-67")
def test_counting_and_shapes_never_cut_inside_code():
    counting = "".join(f"Step {n}: verify the result of it.\n" for n in range(400))

    assert cut_in(counting) is not None
    assert cut_in("```\n" + counting) is None
    assert cut_in(counting, Allowance(structured=True)) is None
    assert StreamRule.COUNTER in rules_in("```\n" + counting)


def test_after_a_closed_fence_the_usual_bars_hold():
    assert cut_in("```\ncode\n```\n" + SENTENCE * 7) is not None
    assert cut_in("```\ncode\n" + SENTENCE * 7) is None


# ---- however it is cut into chunks


@pytest.mark.requirement("P-66")
@given(
    blocks=st.lists(
        st.tuples(st.text("ab 1.\n\"'|`é", min_size=1, max_size=30), st.integers(1, 60)), max_size=6
    ),
    sizes=st.lists(st.integers(1, 300), min_size=1, max_size=20),
)
def test_streaming_finds_what_the_whole_text_shows(blocks: list[tuple[str, int]], sizes: list[int]):
    text = "".join(block * count for block, count in blocks)
    detector = Detector(SETTINGS, PLAIN)
    start = step = 0
    while start < len(text):
        detector.feed(text[start : start + sizes[step % len(sizes)]])
        start += sizes[step % len(sizes)]
        step += 1
    detector.finish()

    assert detector.findings == findings_in(text, SETTINGS)


@given(st.text(max_size=3_000))
def test_any_text_can_be_read(text: str):
    for found in findings_in(text, SETTINGS):
        assert 0 < found.at <= len(text)


def test_numbers_in_a_table_are_not_even_noticed():
    rows = "".join(f"| 2026-{n:02d} | 3,{n * 37 % 900:03d} | 216 |\n" for n in range(60))

    assert StreamRule.COUNTER not in rules_in("| a | b | c |\n|---|---|---|\n" + rows)


def test_measurements_are_noticed_and_not_cut():
    rows = "".join(f"Reading {n} gave {n * n % 97} units in all.\n" for n in range(90))
    found = {one.rule: one.severity for one in findings_in(rows[: 19 * 32], SETTINGS)}

    assert found[StreamRule.COUNTER] is Severity.NOTICE


def test_after_a_cut_nothing_more_is_said():
    detector = Detector(SETTINGS, PLAIN)
    detector.feed(SENTENCE * 50)
    known = detector.findings

    assert detector.feed(SENTENCE * 50) == ()
    assert detector.finish() == ()
    assert detector.findings == known


def test_a_rule_notices_once():
    found = findings_in("```\n" + SENTENCE * 9, SETTINGS)

    assert [one.rule for one in found].count(StreamRule.PERIOD) == 1


def test_the_bars_are_settings():
    strict = StreamLoopSettings(period_cut=20, period_cut_chars=2_000)

    assert not any(found.severity is Severity.CUT for found in findings_in(SENTENCE * 19, strict))
    assert cut_in(SENTENCE * 19) is not None


def test_a_long_loop_is_counted_beyond_the_window():
    detector = Detector(SETTINGS, Allowance(wish="Write it 30 times."))
    detector.feed(LONG_PARAGRAPH * 45)

    assert detector.cut is not None
    assert detector.cut.count == 40


def test_a_document_of_records_is_ordinary():
    records = json.dumps([{"id": n, "name": WORDS[n % 26], "note": WORDS[n * 5 % 26]} for n in range(120)])

    assert cut_in(records) is None
