"""The bundled encoder with trained layers: each reader answers its own question, whatever else is loaded."""

import pytest

from festinger.embedding.trained_encoder import open_text_classifier
from festinger.memory.extract.classifier import reader_path as statement_reader
from festinger.retrieval.notes import pair_text
from festinger.retrieval.notes import reader_path as note_reader

ALLERGY, PORT = "I'm allergic to peanuts", "Our staging database listens on port 5433"
RECIPE = "suggest a satay recipe"


async def test_two_readers_in_one_process_do_not_share_what_they_learned():
    statements = await open_text_classifier(statement_reader())
    notes = await open_text_classifier(note_reader())
    try:
        allergy, port = await notes.logits([pair_text(ALLERGY, RECIPE), pair_text(PORT, RECIPE)])
        fact, question = await statements.logits([f"{PORT} [SEP]  [SEP] ", "how do I dump a table [SEP]  [SEP] "])
    finally:
        await statements.close()
        await notes.close()

    assert allergy > 0 > port
    assert fact > 0 > question


async def test_a_text_gets_the_same_answer_alone_and_in_company():
    notes = await open_text_classifier(note_reader())
    try:
        together = await notes.logits([pair_text(ALLERGY, RECIPE), pair_text(PORT, RECIPE)])
        alone = [(await notes.logits([pair_text(each, RECIPE)]))[0] for each in (ALLERGY, PORT)]
        nothing = await notes.logits([])
    finally:
        await notes.close()

    assert together == pytest.approx(alone, abs=0.3)  # the scale of 8-bit products is that of the batch
    assert nothing == []
