"""The written graph computes what a BERT encoder is: held against the plain formulas in numpy."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from festinger.embedding.bert import (
    EncoderShape,
    Pooling,
    build_graph,
    quantize_weights,
    read_shape,
    read_tensors,
    select_large_arrays,
    to_onnx,
)
from festinger.embedding.runtime import open_session
from festinger.errors import WeightsUnfit

SHAPE = EncoderShape(layers=2, heads=2, hidden=8, epsilon=1e-12)
VOCABULARY, POSITIONS, WIDE = 20, 12, 16


def weights() -> dict[str, Any]:
    chance = np.random.default_rng(7)

    def table(*size: int) -> Any:
        return chance.normal(0, 0.5, size).astype(np.float32)

    made = {
        "embeddings.word_embeddings.weight": table(VOCABULARY, SHAPE.hidden),
        "embeddings.position_embeddings.weight": table(POSITIONS, SHAPE.hidden),
        "embeddings.token_type_embeddings.weight": table(2, SHAPE.hidden),
    }
    for name in ("embeddings.LayerNorm",):
        made |= {f"{name}.weight": table(SHAPE.hidden), f"{name}.bias": table(SHAPE.hidden)}
    for number in range(SHAPE.layers):
        layer = f"encoder.layer.{number}."
        square = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense")
        sizes = dict.fromkeys(square, (SHAPE.hidden, SHAPE.hidden))
        sizes |= {"intermediate.dense": (WIDE, SHAPE.hidden), "output.dense": (SHAPE.hidden, WIDE)}
        for name, size in sizes.items():
            made |= {f"{layer}{name}.weight": table(*size), f"{layer}{name}.bias": table(size[0])}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            made |= {f"{layer}{name}.weight": table(SHAPE.hidden), f"{layer}{name}.bias": table(SHAPE.hidden)}
    return made


def by_formula(w: dict[str, Any], ids: list[int], pooling: Pooling) -> Any:
    """One text, without any padding, in double precision."""

    def linear(x: Any, name: str) -> Any:
        return x @ w[name + ".weight"].astype(float).T + w[name + ".bias"]

    def normalised(x: Any, name: str) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + SHAPE.epsilon)
        return scaled * w[name + ".weight"] + w[name + ".bias"]

    x = w["embeddings.word_embeddings.weight"][ids].astype(float)
    x += w["embeddings.position_embeddings.weight"][: len(ids)]
    x += w["embeddings.token_type_embeddings.weight"][0]
    x = normalised(x, "embeddings.LayerNorm")
    width = SHAPE.hidden // SHAPE.heads
    for number in range(SHAPE.layers):
        layer = f"encoder.layer.{number}."
        q, k, v = (linear(x, f"{layer}attention.self.{name}") for name in ("query", "key", "value"))
        heads = []
        for head in range(SHAPE.heads):
            part = slice(head * width, (head + 1) * width)
            scores = q[:, part] @ k[:, part].T / math.sqrt(width)
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            heads.append(shares / shares.sum(-1, keepdims=True) @ v[:, part])
        processed = linear(np.concatenate(heads, axis=-1), layer + "attention.output.dense")
        x = normalised(x + processed, layer + "attention.output.LayerNorm")
        wide = linear(x, layer + "intermediate.dense")
        gelu = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        x = normalised(x + linear(gelu, layer + "output.dense"), layer + "output.LayerNorm")
    pooled = x.mean(0) if pooling is Pooling.MEAN else x[0]
    return pooled / np.linalg.norm(pooled)


@pytest.mark.requirement("X-72")
@pytest.mark.parametrize("pooling", list(Pooling))
def test_the_graph_gives_what_the_formulas_give_with_and_without_padding(pooling: Pooling):
    graph = build_graph(weights(), SHAPE, pooling)
    words = weights()["embeddings.word_embeddings.weight"]
    session = open_session(to_onnx(graph, SHAPE.hidden), select_large_arrays(graph), words=words)
    texts = [[3, 1, 4, 1, 5], [9, 2]]

    ids = np.array([texts[0], texts[1] + [0, 0, 0]], dtype=np.int64)
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], dtype=np.int64)
    rows = session.run({"input_ids": ids, "attention_mask": mask})

    for row, text in zip(rows, texts, strict=True):
        assert row == pytest.approx(by_formula(weights(), text, pooling), abs=2e-6)


def widened() -> dict[str, Any]:
    """Weights with a channel that is a hundred times as large as the others before the first layer, which allows for it."""
    made = weights()
    for name in ("embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias"):
        made[name][3] *= 100
    for name in ("query", "key", "value"):
        made[f"encoder.layer.0.attention.self.{name}.weight"][:, 3] /= 100
    return made


def nearness_of_integers(ranges: dict[str, Any]) -> float:
    graph = build_graph(quantize_weights(widened(), ranges), SHAPE, Pooling.MEAN)
    words = widened()["embeddings.word_embeddings.weight"]
    session = open_session(to_onnx(graph, SHAPE.hidden), select_large_arrays(graph), words=words)
    ids = np.array([[3, 1, 4, 1, 5]], dtype=np.int64)
    [row] = session.run({"input_ids": ids, "attention_mask": np.ones_like(ids)})
    return float(row @ by_formula(widened(), ids[0].tolist(), Pooling.MEAN))


def test_products_of_integers_are_nearer_to_the_formulas_where_a_large_channel_is_known():
    known = np.full(SHAPE.hidden, 2, np.float32)
    known[3] = 100

    leveled = nearness_of_integers({"encoder.layer.0.attention.self": known})

    assert 1 - leveled < (1 - nearness_of_integers({})) / 5


def test_a_text_gets_the_same_vector_of_integers_in_any_batch():
    graph = build_graph(quantize_weights(weights(), {}), SHAPE, Pooling.MEAN)
    words = weights()["embeddings.word_embeddings.weight"]
    session = open_session(to_onnx(graph, SHAPE.hidden), select_large_arrays(graph), words=words)

    batch = np.array([[3, 1, 4, 1, 5], [9, 2, 0, 0, 0]], dtype=np.int64)
    together = session.run({"input_ids": batch, "attention_mask": np.array([[1] * 5, [1, 1, 0, 0, 0]])})
    alone = session.run({"input_ids": batch[1:, :2], "attention_mask": np.ones((1, 2), np.int64)})

    assert together[1] == pytest.approx(alone[0], abs=1e-6)


def test_tensors_may_carry_the_prefix_of_a_larger_model(tmp_path: Path):
    path = tmp_path / "model.safetensors"
    save_file({f"bert.{name}": array for name, array in weights().items()}, path)

    assert read_tensors(path).keys() == weights().keys()


@pytest.mark.parametrize("change", [{"model_type": "roberta"}, {"hidden_act": "relu"}])
def test_an_encoder_of_another_build_is_refused_rather_than_run_wrongly(tmp_path: Path, change: dict[str, str]):
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "hidden_size": 8,
        "layer_norm_eps": 1e-12,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert read_shape(tmp_path) == SHAPE

    (tmp_path / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(WeightsUnfit, match="not a plain BERT encoder"):
        read_shape(tmp_path)


def test_a_file_that_is_not_safetensors_is_refused(tmp_path: Path):
    (tmp_path / "model.safetensors").write_bytes(b"not weights")

    with pytest.raises(WeightsUnfit):
        read_tensors(tmp_path / "model.safetensors")
