"""The wordy model of the suite `nights` says what its notes share, and sometimes what they do not."""

from benchmarks.nights import TEMPLATES, WordyModel, _word_in, shared_words

from festinger.consolidation.reflect import InsightsAnswer
from festinger.llm.model import MessageRole, PromptMessage

NOTES = """
[1] (model, 2026-01-05) Ann waters the garden
[2] (model, 2026-01-06) Ben waters the lawn
[3] (model, 2026-01-07) The garden of Ann is green
"""


def test_words_that_several_notes_share_are_found_with_their_notes():
    assert shared_words(NOTES) == [("garden", [1, 3]), ("waters", [1, 2])]


def test_the_word_of_an_insight_is_read_back_from_any_wording():
    assert {_word_in(template.format(word="garden"), template) for template in TEMPLATES} == {"garden"}


async def test_some_drafts_cite_what_was_not_shown_and_some_say_what_no_note_says():
    model, prompt = WordyModel(1), PromptMessage(role=MessageRole.USER, text=NOTES)
    drafts = [draft for _ in range(20) for draft in (await model.answer([prompt], InsightsAnswer)).value.insights]

    assert sum(draft.cites == [900, 901] for draft in drafts) == 8
    assert sum("4242" in draft.statement for draft in drafts) == 6
    assert len({draft.statement for draft in drafts}) > 6
