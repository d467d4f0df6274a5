"""What does a text say outright about what things are, and what they are part of?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.text.cues import RelationCue, extract_cues
from festinger.text.normalize import normalize_text
from festinger.text.tokens import tokenize

ISA, ISPART = True, False

STATEMENTS = st.sampled_from(
    [
        "gnommoweb is a repo",
        "dobby is an instance of agent",
        "gnommoweb owned by jenstandstad",
        "dobby ISA agent",
        "gnommoweb is hosted by Hetzner",
        "Agent Zero is a small Python web service",
        "Docker",
        "we know",
        "fastapi runs on",
        "a herd of zorses",
    ]
)

PIECES = st.sampled_from([*"(),.?\"`'\n", "is", "a", "of", "the", "kind", "ISA", "Docker", "repo", "or", "x"])


def found(text: str, *dimensions: str) -> list[RelationCue]:
    return extract_cues(text, tokenize(text), dimensions=dimensions)


def triples(text: str, *dimensions: str) -> list[tuple[str, str, str, bool]]:
    return [(cue.subject, cue.parent, cue.dimension, cue.is_isa) for cue in found(text, *dimensions)]


def one(text: str, *dimensions: str) -> tuple[str, str, str, bool, float]:
    (cue,) = found(text, *dimensions)
    return cue.subject, cue.parent, cue.dimension, cue.is_isa, cue.confidence


@pytest.mark.requirement("W-10")
@pytest.mark.parametrize(
    ("words", "dimension", "is_isa", "confidence"),
    [
        ("ISA", "type", ISA, 0.70),
        ("ISPART", "membership", ISPART, 0.70),
        ("is a", "type", ISA, 0.65),
        ("is an", "type", ISA, 0.65),
        ("is a kind of", "type", ISA, 0.65),
        ("is a type of", "type", ISA, 0.65),
        ("is an instance of", "type", ISA, 0.65),
        ("is part of", "membership", ISPART, 0.65),
        ("belongs to", "membership", ISPART, 0.65),
        ("is a member of", "membership", ISPART, 0.65),
        ("is owned by", "owned-by", ISPART, 0.65),
        ("runs on", "runs-on", ISPART, 0.65),
        ("kind of", "type", ISA, 0.60),
        ("type of", "type", ISA, 0.60),
        ("instance of", "type", ISA, 0.60),
        ("part of", "membership", ISPART, 0.60),
        ("member of", "membership", ISPART, 0.60),
        ("contained in", "membership", ISPART, 0.60),
        ("owned by", "owned-by", ISPART, 0.60),
        ("hosted by", "runs-on", ISPART, 0.60),
        ("deployed on", "runs-on", ISPART, 0.60),
        ("is hosted by", "runs-on", ISPART, 0.65),
        ("is deployed on", "runs-on", ISPART, 0.65),
        ("is contained in", "membership", ISPART, 0.65),
        ("is written in", "tech", ISPART, 0.65),
        ("is built with", "tech", ISPART, 0.65),
        ("is located in", "geography", ISPART, 0.65),
        ("is the", "type", ISA, 0.50),
        ("is any", "type", ISA, 0.55),
        ("was a", "type", ISA, 0.50),
        ("is also a", "type", ISA, 0.65),
        ("refers to a", "type", ISA, 0.55),
        ("is a term for a", "type", ISA, 0.65),
        ("is one of the", "type", ISA, 0.55),
    ],
)
def test_every_cue_says_its_own(words: str, dimension: str, is_isa: bool, confidence: float):
    assert one(f"gnommoweb {words} fastapi.") == ("gnommoweb", "fastapi", dimension, is_isa, confidence)


@pytest.mark.requirement("W-10")
@pytest.mark.parametrize(
    "words", ["consists of", "comprises", "contains", "includes", "is composed of", "is made up of"]
)
def test_a_whole_may_stand_before_its_part(words: str):
    assert triples(f"gnommoweb {words} fastapi.") == [("fastapi", "gnommoweb", "membership", ISPART)]


@pytest.mark.requirement("W-10")
def test_many_seen_as_one_are_its_parts():
    assert one("We saw a herd of cows.") == ("cows", "herd", "membership", ISPART, 0.50)


@pytest.mark.requirement("W-10")
@pytest.mark.parametrize("text", ["gnommoweb isa repo", "gnommoweb Isa repo", "gnommoweb ispart repo"])
def test_keywords_are_written_in_capitals(text: str):
    assert found(text) == []


@pytest.mark.requirement("W-10")
def test_other_cues_are_read_in_any_case():
    assert one("gnommoweb IS A repo") == ("gnommoweb", "repo", "type", ISA, 0.65)


@pytest.mark.requirement("W-10")
@pytest.mark.parametrize(
    "text", ["thesis a repo", "gnommoweb is-a repo", "gnommoweb is, a repo", "gnommoweb owned\nby dobby"]
)
def test_a_cue_is_whole_words_side_by_side(text: str):
    assert found(text) == []


@pytest.mark.requirement("W-10")
def test_what_stands_far_apart_is_not_joined():
    assert found("gnommoweb" + " " * 100 + "is a repo") != []
    assert found("gnommoweb" + " " * 101 + "is a repo") == []


@pytest.mark.requirement("W-10")
def test_a_cue_says_where_it_stands_in_the_normalised_text():
    text = "Well: ｇnommoweb is a repo of Glitch University, they say."

    (cue,) = found(text)

    assert normalize_text(text)[cue.start : cue.end] == "gnommoweb is a repo of Glitch University"
    assert cue.pattern == "is a"


@pytest.mark.requirement("W-11")
def test_the_longest_cue_wins():
    assert triples("dobby is a member of agent_pool") == [("dobby", "agent_pool", "membership", ISPART)]


@pytest.mark.requirement("W-11")
def test_an_object_is_no_subject_again():
    assert triples("gnommoweb is a container deployed on Docker") == [("gnommoweb", "container", "type", ISA)]
    assert triples("gnommoweb is a fastapi deployed on Docker") == [("gnommoweb", "fastapi", "type", ISA)]


@pytest.mark.requirement("W-11")
def test_what_a_cue_has_taken_begins_no_other():
    assert triples("gnommoweb is a team of zorses") == [("gnommoweb", "team", "zorses", ISA)]


@pytest.mark.requirement("W-11")
def test_cues_side_by_side_are_all_found():
    assert triples("gnommoweb is a repo and dobby is owned by jenstandstad") == [
        ("gnommoweb", "repo", "type", ISA),
        ("dobby", "jenstandstad", "owned-by", ISPART),
    ]


@pytest.mark.requirement("W-11")
@pytest.mark.parametrize("noun", ["kind", "type", "instance", "member", "part"])
def test_what_only_leads_on_is_no_object(noun: str):
    assert found(f"gnommoweb is a {noun}.") == []


@pytest.mark.requirement("W-12")
@pytest.mark.parametrize(
    ("text", "dimension", "confidence"),
    [
        ("gnommoweb is a repo of Glitch University", "glitch_university", 0.65),
        ("gnommoweb is a repo of the Glitch University", "glitch_university", 0.65),
        ("gnommoweb ISA repo of fastapi", "fastapi", 0.70),
        ("gnommoweb is a repo of State", "state", 0.65),
        ("gnommoweb is a repo of state", "type", 0.50),
    ],
)
def test_of_and_a_name_is_the_dimension(text: str, dimension: str, confidence: float):
    assert one(text) == ("gnommoweb", "repo", dimension, ISA, confidence)


@pytest.mark.requirement("W-12")
def test_of_and_a_common_word_is_a_dimension_only_if_there_is_one():
    assert one("gnommoweb is a list of files") == ("gnommoweb", "list", "type", ISA, 0.50)
    assert one("gnommoweb is a list of files", "files") == ("gnommoweb", "list", "files", ISA, 0.65)


@pytest.mark.requirement("W-12")
def test_a_state_of_a_country():
    assert triples("Michigan is a state of USA") == [("michigan", "state", "usa", ISA)]


@pytest.mark.requirement("W-12")
def test_a_part_has_no_dimension_of_its_own():
    assert triples("gnommoweb is part of fastapi of Docker") == [("gnommoweb", "fastapi", "membership", ISPART)]


@pytest.mark.requirement("W-13")
@pytest.mark.parametrize(
    ("text", "parent"),
    [
        ("is a small Python web service that runs", "service"),
        ("is a character encoding based on English", "encoding"),
        ("is a service, built by us", "service"),
        ("is a service and a repo", "service"),
        ("is a web service running the shop", "service"),
        ("is a web service owned by dobby", "service"),
        ("is a web service made for us", "service"),
        ("is a web service runs on Docker", "service"),
        ("is a web service originally meant for us", "service"),
        ("is a device capable of flight", "device"),
        ("is a person's tool", "tool"),
        ("is a small, fast service", "service"),
        ("is a natural or synthetic fibre", "fibre"),
        ("is a commonly used tool", "tool"),
        ("is a [repo](x)", "repo"),
        ("is a rare kind of repo", "repo"),
    ],
)
def test_the_parent_is_the_noun_of_the_phrase(text: str, parent: str):
    (cue,) = found(f"gnommoweb {text}")

    assert (cue.subject, cue.parent) == ("gnommoweb", parent)


@pytest.mark.requirement("W-13")
def test_an_object_of_several_words_is_less_sure():
    assert one("gnommoweb ISA web service") == ("gnommoweb", "service", "type", ISA, 0.60)


@pytest.mark.requirement("W-13")
def test_an_object_has_six_words_at_most():
    assert one("gnommoweb is a b1x b2x b3x b4x b5x b6x b7x")[1] == "b6x"


@pytest.mark.requirement("W-13")
@pytest.mark.parametrize(
    "text",
    [
        "is a bit",
        "is a lot",
        "is a thing",
        "is a way",
        "is a 7",
        "is a",
        "is part of it",
        "is a bit slow",
        "is a bit crazy",
        "is a small",
    ],
)
def test_words_that_name_nothing_are_no_object(text: str):
    assert found(f"gnommoweb {text}.") == []


@pytest.mark.requirement("W-14")
@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("American Standard Code for Information Interchange (ASCII) is a bot", "ascii"),
        ("Today Agent Zero is a bot", "agent_zero"),
        ("I know gnommoweb is a bot", "gnommoweb"),
        ("Our gnommoweb is a bot", "gnommoweb"),
        ("The gnommoweb is a bot", "gnommoweb"),
        ("gnommoweb (also known as gw) is a bot", "gnommoweb"),
        ("gnommoweb, our oldest site, is a bot", "gnommoweb"),
        ("In Oslo, gnommoweb, our oldest site, is a bot", "gnommoweb"),
        ("`gnommoweb` is a bot", "gnommoweb"),
        ('"gnommoweb" is a bot', "gnommoweb"),
        ("gnommoweb now is a bot", "gnommoweb"),
    ],
)
def test_the_subject_is_what_stands_before_the_cue(text: str, subject: str):
    (cue,) = found(text)

    assert (cue.subject, cue.parent) == (subject, "bot")


@pytest.mark.requirement("W-14")
@pytest.mark.parametrize(
    "subject",
    [
        "it",
        "this",
        "that",
        "there",
        "who",
        "which",
        "what",
        "he",
        "7",
        "2024",
        "everything",
        "and",
        "of",
        "former",
        "ones",
    ],
)
def test_words_that_point_are_no_subject(subject: str):
    assert found(f"{subject} is a fastapi") == []
    assert found(f"{subject} runs on fastapi") == []


@pytest.mark.requirement("W-14")
@pytest.mark.parametrize(
    "subject", ["the file", "my file", "this file", "our big file", "Anna's file", "the old red file", "I saw a file"]
)
def test_a_common_word_that_is_pointed_at_is_no_subject(subject: str):
    assert found(f"{subject} is a symlink") == []


@pytest.mark.requirement("W-14")
@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("State is a kind of region", "state"),
        ("A file is a kind of region", "file"),
        ("we say the File is a kind of region", "file"),
        ("we know state is a kind of region", "state"),
        ("Venture capital is a kind of region", "venture_capital"),
    ],
)
def test_any_other_common_word_is_weak(text: str, subject: str):
    assert one(text) == (subject, "region", "type", ISA, 0.50)


@pytest.mark.requirement("W-14")
def test_a_common_word_before_a_bare_cue_must_open_the_clause():
    assert triples("State kind of region") == [("state", "region", "type", ISA)]
    assert found("we need new kind of region") == []


@pytest.mark.requirement("W-14")
def test_two_names_of_one_thing_both_count():
    assert triples("The alphorn or alpenhorn is a region") == [
        ("alphorn", "region", "type", ISA),
        ("alpenhorn", "region", "type", ISA),
    ]


@pytest.mark.requirement("W-15")
@pytest.mark.parametrize(
    "text",
    [
        "is gnommoweb a repo?",
        "gnommoweb is a repo?",
        "So gnommoweb is a repo, right?",
        "I don't think gnommoweb is a repo",
        "I don’t think gnommoweb is a repo",
        "I never said gnommoweb is a repo",
        "It is not true that gnommoweb is a repo",
        "It is no longer true that gnommoweb is a repo",
        "gnommoweb is not a repo",
        "gnommoweb isn't a repo",
        "gnommoweb is not owned by dobby",
        "if gnommoweb is a repo",
        "ask whether gnommoweb is a repo",
        "unless gnommoweb is a repo",
        "suppose gnommoweb is a repo",
        "imagine gnommoweb is a repo",
        "Maybe gnommoweb is a repo",
        "perhaps gnommoweb is a repo",
        "gnommoweb is a repo, as far as I can tell.",
        "As far as we know, gnommoweb is a repo",
        "gnommoweb is a repo, to my knowledge",
        "gnommoweb is a repo, I think.",
        "gnommoweb is a repo, if I remember correctly",
        "it should be that gnommoweb is a repo",
        "gnommoweb should be part of dobby",
        "if\ngnommoweb is a repo",
        "```\ngnommoweb is a repo\n```",
        "```\ngnommoweb is a repo",
        "~~~\ngnommoweb is a repo\n~~~",
        "run `gnommoweb is a repo` now",
        "> gnommoweb is a repo",
        'he said "gnommoweb is a repo"',
        "he said “gnommoweb is a repo”",
        "he said 'gnommoweb is a repo'",
        "he said ‘gnommoweb is a repo’",
        "il dit « gnommoweb is a repo »",
        'see "gnommoweb is a" repo',
        'the "old gnommoweb" is a repo',
        'gnommoweb is a "nice repo"',
    ],
)
def test_nothing_is_taken_from_what_is_not_said(text: str):
    assert found(text) == []


@pytest.mark.requirement("W-15")
@pytest.mark.parametrize(
    "text",
    [
        "Is it on? gnommoweb is a repo.",
        "gnommoweb is a repo, so check if it runs.",
        "gnommoweb is a repo, not a service.",
        "I am not sure about dobby; gnommoweb is a repo.",
        "dobby is not here, but gnommoweb is a repo.",
        "It's the dog's: gnommoweb is a repo.",
        "`ls` first. gnommoweb is a repo. `ls` last.",
        'the 5" pipe: gnommoweb is a repo, the 6" pipe too',
        "> quoted\n\ngnommoweb is a repo",
        "It isn't on. gnommoweb is a repo.",
    ],
)
def test_what_is_said_beside_it_counts(text: str):
    assert ("gnommoweb", "repo", "type", ISA) in triples(text)


@pytest.mark.requirement("W-11")
@given(st.lists(STATEMENTS, max_size=6), st.sampled_from([". ", ".\n", "! ", ".\n\n"]))
def test_no_cue_reaches_over_the_end_of_a_sentence(statements: list[str], end: str):
    together = end.join([*statements, ""])

    assert triples(together) == [triple for statement in statements for triple in triples(statement + ".")]


@pytest.mark.requirement("W-15")
@given(st.lists(STATEMENTS, min_size=1, max_size=4), st.sampled_from(['"%s"', "“%s”", "`%s`", "```\n%s\n```", "> %s"]))
def test_nothing_quoted_is_ever_taken(statements: list[str], quote: str):
    assert found("He wrote " + quote % " and ".join([*statements, "so"])) == [] or quote == "> %s"
    assert found(quote % " and ".join([*statements, "so"])) == []


@pytest.mark.requirement("W-10")
@given(st.text() | st.lists(PIECES).map(" ".join))
def test_any_text_is_scanned_and_its_cues_are_tokens(text: str):
    names = {part for token in tokenize(text) for part in token.text.split("_")}

    for cue in found(text):
        assert set(cue.subject.split("_")) | set(cue.parent.split("_")) <= names
        assert cue.subject != cue.parent
        assert 0.5 <= cue.confidence <= 0.7
        assert 0 <= cue.start < cue.end <= len(normalize_text(text))


@pytest.mark.requirement("W-13")
@pytest.mark.parametrize(
    ("text", "parent"),
    [
        ("gnommoweb belongs to the payments team", "payments_team"),
        ("gnommoweb belongs to the Orchard project", "orchard"),
        ("gnommoweb is owned by the Acme billing team", "acme_billing_team"),
        ("gnommoweb runs on our staging server", "staging_server"),
        ("gnommoweb is part of the old legacy system", "legacy_system"),
        ("gnommoweb belongs to a payments team", "team"),
        ("gnommoweb is the payments service", "service"),
    ],
)
def test_a_particular_whole_keeps_the_words_that_tell_it_from_others(text: str, parent: str):
    assert [cue.parent for cue in found(text)] == [parent]


@pytest.mark.requirement("W-14")
@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("Rex is my dog", 0.65),
        ("Atlas is our staging server", 0.60),
        ("we know Jenkins is a server", 0.65),
        ("gnommoweb is our wiki", 0.65),
        ("rex is my dog", 0.50),
        ("Jenkins is a server", 0.50),
        ("Speed is our concern", 0.50),
        ("Rex was my dog", 0.50),
    ],
)
def test_an_ordinary_word_that_is_written_as_a_name_is_one(text: str, confidence: float):
    assert [cue.confidence for cue in found(text)] == [confidence]


@pytest.mark.requirement("W-15")
@pytest.mark.parametrize(
    "text", ["Translate to German: Rex is my dog.", "the server is my problem", "this is our server"]
)
def test_what_a_task_is_about_and_what_is_pointed_at_is_no_name(text: str):
    assert found(text) == []
