"""How is a fact written down in one line?"""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import BadFact
from festinger.text.facts import GRAMMAR, FactTriple, format_fact, parse_fact


@pytest.mark.requirement("W-85")
@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("gnommoweb -isa repo", ("gnommoweb", "repo", "type", True)),
        ("gnommoweb -ispart platform", ("gnommoweb", "platform", "membership", False)),
        ("gnommoweb -isa repo in context of glitch_university", ("gnommoweb", "repo", "glitch_university", True)),
        ("red panda -isa animal", ("red_panda", "animal", "type", True)),
        ("Red Panda -isa Wild Animal in context of New York Zoo", ("red_panda", "wild_animal", "new_york_zoo", True)),
        ("  dobby  -ISPART  agent pool  ", ("dobby", "agent_pool", "membership", False)),
        ("runs-on -isa artifact-type", ("runs-on", "artifact-type", "type", True)),
        ("東京 -isa 都市", ("東京", "都市", "type", True)),
    ],
)
def test_a_line_states_a_fact(line: str, fact: tuple[str, str, str, bool]):
    concept, parent, dimension, is_isa = fact

    assert parse_fact(line) == FactTriple(concept=concept, parent=parent, dimension=dimension, is_isa=is_isa)


@pytest.mark.requirement("W-85")
@pytest.mark.parametrize(
    "line",
    [
        "",
        "gnommoweb is a repo",
        "gnommoweb -isa repo -isa site",
        "gnommoweb -isa -ispart repo",
        "-isa repo",
        "gnommoweb -isa",
        "gnommoweb -isa in context of x",
        "gnommoweb -isa repo in context of",
        "gnommoweb -isa repo in context of !",
        "gnommoweb -isa repo in context of x in context of y",
        "gnommoweb-isa repo",
        "gnommoweb -isa " + "r" * 500,
    ],
)
def test_any_other_line_is_refused_with_the_grammar(line: str):
    with pytest.raises(BadFact) as refused:
        parse_fact(line)

    assert refused.value.hint == GRAMMAR
    assert "-isa Y [in context of Z]" in GRAMMAR


@pytest.mark.requirement("W-85")
@given(st.text(alphabet="ab -isapt_.nNcoxf東\u0301é'", max_size=60) | st.text(max_size=40))
def test_a_printed_fact_reads_back_as_itself(line: str):
    try:
        fact = parse_fact(line)
    except BadFact:
        fact = FactTriple(concept="a", parent="b", dimension="c", is_isa=False)

    assert parse_fact(format_fact(fact)) == fact


@pytest.mark.requirement("W-85")
@given(st.text(min_size=1), st.text(min_size=1), st.sampled_from(["-isa", "-ispart"]))
def test_no_line_raises_anything_but_bad_fact(before: str, after: str, flag: str):
    with suppress(BadFact):
        fact = parse_fact(f"{before} {flag} {after}")

        assert parse_fact(format_fact(fact)) == fact
