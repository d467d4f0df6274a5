"""The bundled encoder with adapters: each answers its own question, whatever else is loaded."""

import pytest

from festinger.embedding.adapter import open_adapted_classifier
from festinger.memory.extract.classifier import adapter_path as statement_adapter
from festinger.retrieval.notes import adapter_path as note_adapter
from festinger.retrieval.notes import pair_text

ALLERGY, PORT = "I'm allergic to peanuts", "Our staging database listens on port 5433"
RECIPE = "suggest a satay recipe"


async def test_two_adapters_in_one_process_do_not_share_what_they_learned():
    statements = await open_adapted_classifier(statement_adapter())
    notes = await open_adapted_classifier(note_adapter())
    try:
        allergy, port = await notes.logits([pair_text(ALLERGY, RECIPE), pair_text(PORT, RECIPE)])
        fact, question = await statements.logits([f"{PORT} [SEP]  [SEP] ", "how do I dump a table [SEP]  [SEP] "])
    finally:
        await statements.close()
        await notes.close()

    assert allergy > 0 > port
    assert fact > 0 > question


async def test_a_text_gets_the_same_answer_alone_and_in_company():
    notes = await open_adapted_classifier(note_adapter())
    try:
        together = await notes.logits([pair_text(ALLERGY, RECIPE), pair_text(PORT, RECIPE)])
        alone = [(await notes.logits([pair_text(each, RECIPE)]))[0] for each in (ALLERGY, PORT)]
        nothing = await notes.logits([])
    finally:
        await notes.close()

    assert together == pytest.approx(alone, abs=1e-3)
    assert nothing == []
