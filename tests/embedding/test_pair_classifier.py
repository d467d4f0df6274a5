"""A pair model of a folder: three shares a pair, in the order of its own labels, and refused where it tells none.

The model is made here: it looks whether the second text holds the word `not` and whether it begins as the first does.
"""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from festinger.embedding.embedder import EmbedderOptions
from festinger.embedding.pair_classifier import find_class_columns, open_pair_classifier, softmax
from festinger.errors import BadInput, BadSetting, WeightsUnfit

VOCABULARY = {name: place for place, name in enumerate(["[PAD]", "[UNK]", "[SEP]", "not", "bees", "ants"])}
LABELS = {"0": "contradiction", "1": "entailment", "2": "neutral"}


def tokenizer() -> str:
    made = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="$A [SEP]", pair="$A [SEP] $B:1 [SEP]:1", special_tokens=[("[SEP]", VOCABULARY["[SEP]"])]
    )
    return str(made.to_str())


def graph(classes: int = 3) -> bytes:
    """Counts, of the tokens of the second text, those that speak for each class."""
    votes = np.zeros((len(VOCABULARY), classes), dtype=np.float32)
    votes[VOCABULARY["not"], 0] = 8.0
    votes[VOCABULARY["bees"], 1 % classes] = 4.0
    votes[VOCABULARY["ants"], 2 % classes] = 4.0
    nodes = [
        helper.make_node("Gather", ["votes", "input_ids"], ["cast"]),
        helper.make_node("Cast", ["token_type_ids"], ["second"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["second", "axis"], ["mask"]),
        helper.make_node("Mul", ["cast", "mask"], ["counted"]),
        helper.make_node("ReduceSum", ["counted", "length"], ["logits"], keepdims=0),
    ]
    numbers = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
        for name in ("input_ids", "token_type_ids")
    ]
    proto = helper.make_graph(
        nodes,
        "votes",
        numbers,
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", classes])],
        [
            numpy_helper.from_array(votes, "votes"),
            numpy_helper.from_array(np.array([2], dtype=np.int64), "axis"),
            numpy_helper.from_array(np.array([1], dtype=np.int64), "length"),
        ],
    )
    model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def folder_of(at: Path, *, labels: dict[str, str] = LABELS, classes: int = 3) -> Path:
    at.mkdir(exist_ok=True)
    (at / "model.onnx").write_bytes(graph(classes))
    (at / "tokenizer.json").write_text(tokenizer())
    (at / "config.json").write_text(json.dumps({"id2label": labels}))
    return at


@pytest.mark.requirement("J-07")
async def test_shares_come_in_one_order_whatever_the_labels_of_the_model(tmp_path: Path):
    model = await open_pair_classifier(f"onnx:{folder_of(tmp_path / 'tiny')}", EmbedderOptions())

    shares = await model.shares([("bees", "bees"), ("bees", "not bees"), ("bees", "ants")])
    none = await model.shares([])
    await model.close()

    assert [int(row.argmax()) for row in shares] == [0, 2, 1]
    assert shares.sum(axis=1) == pytest.approx(np.ones(3))
    assert none.shape == (0, 3)
    assert model.name.startswith("onnx:tiny@")


@pytest.mark.requirement("J-07")
async def test_other_weights_have_another_name(tmp_path: Path):
    one = await open_pair_classifier(f"onnx:{folder_of(tmp_path / 'tiny')}", EmbedderOptions())
    (tmp_path / "tiny" / "model.onnx").write_bytes(graph() + _note())
    other = await open_pair_classifier(f"onnx:{tmp_path / 'tiny'}", EmbedderOptions())
    await one.close()
    await other.close()

    assert one.name != other.name


def _note() -> bytes:
    """A line of documentation at the end of a model, which changes nothing but its sum."""
    return bytes(onnx.ModelProto(doc_string="other").SerializeToString())


@pytest.mark.parametrize("choice", ["tiny", "onnx:tiny", "hub:owner/tiny"])
async def test_what_names_no_folder_is_refused(choice: str):
    with pytest.raises(BadSetting, match="judges"):
        await open_pair_classifier(choice, EmbedderOptions())


async def test_a_folder_without_a_model_is_unfit(tmp_path: Path):
    with pytest.raises(WeightsUnfit, match=r"model\.onnx"):
        await open_pair_classifier(f"onnx:{tmp_path}", EmbedderOptions())


async def test_a_model_that_does_not_tell_the_three_apart_is_unfit(tmp_path: Path):
    two = folder_of(tmp_path / "two", labels={"0": "LABEL_0", "1": "LABEL_1"}, classes=2)
    unnamed = folder_of(tmp_path / "unnamed")
    (unnamed / "config.json").write_text("{}")
    narrow = folder_of(tmp_path / "narrow", classes=2)

    for folder, said in ((two, "label_0"), (unnamed, "means what"), (narrow, "2 numbers")):
        with pytest.raises(WeightsUnfit, match=said):
            await open_pair_classifier(f"onnx:{folder}", EmbedderOptions())


async def test_a_blank_text_is_refused(tmp_path: Path):
    model = await open_pair_classifier(f"onnx:{folder_of(tmp_path / 'tiny')}", EmbedderOptions())

    with pytest.raises(BadInput, match="blank"):
        await model.shares([("bees", " ")])
    await model.close()


def test_labels_are_read_in_any_case_and_order():
    assert find_class_columns({"0": "NEUTRAL", "2": "Entailment", "1": "contradiction"}, source="x") == [2, 0, 1]


def test_large_numbers_do_not_overflow():
    assert softmax(np.array([[1e4, 0.0, -1e4]], dtype=np.float32)).tolist() == [[1.0, 0.0, 0.0]]
