"""Builds the ONNX graph of a BERT encoder from safetensors weights.

The bundled weights are safetensors, and the runtime reads ONNX. The graph is small, so it is built here and
passed to the runtime together with the arrays in memory: no converter, no torch, no second copy on disk.
Batch and length are dynamic. Pooling and normalization are part of it; looking up the words is not, since every session
would hold its own copy of half the weights.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper
from safetensors import SafetensorError, safe_open

from festinger.errors import WeightsUnfit

OPSET = 20
IR_VERSION = 10
MASKED = -10_000.0
"""Added to the attention of padding before the softmax; its share is then exactly 0 in float32."""

BLOCK = 128
"""Weights that share one scale where 32 bits are multiplied as 8. A sentence takes half the time of 32 bits, its vector
has a cosine of .999 to the exact one, and does not depend on what else is in the batch."""
LEVELED = 3 / 4
"""Share of a channel's excess that moves into the weights. On 200 messages the cosine to the exact vector is .9989, as
with blocks, whose products take nearly twice as long; .9970 if nothing moves."""
TINY = 1e-5
RUNTIME_DOMAIN = "com.microsoft"
"""Operators of the runtime's own, beside the standard ones."""

Array = NDArray[Any]


class Pooling(StrEnum):
    MEAN = "mean"
    CLS = "cls"


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderShape:
    """The dimensions of an encoder, as stated in its `config.json`."""

    layers: int
    heads: int
    hidden: int
    epsilon: float


@dataclass(slots=True)
class OnnxGraphBuilder:
    """Nodes and arrays of a graph under construction. Each method adds one node and names its output."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    arrays: dict[str, Array] = field(default_factory=dict)
    quantized: set[str] = field(default_factory=set)
    """Values that a node has already turned into integers."""

    def node(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def array(self, name: str, values: Array) -> str:
        self.arrays[name] = np.asarray(values, order="C")
        return name

    def number(self, name: str, value: float) -> str:
        return self.array(name, np.array(value, dtype=np.float32))

    def whole(self, name: str, *values: int) -> str:
        return self.array(name, np.array(values, dtype=np.int64))


def read_shape(folder: Path) -> EncoderShape:
    """Read the shape from `config.json`; refuse one for which the graph would be wrong."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu":
        raise WeightsUnfit(
            f"`{folder.name}` is not a plain BERT encoder, so its safetensors cannot be run.",
            hint="Put the model's ONNX file into the folder as `model.onnx`.",
        )
    return EncoderShape(
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        hidden=config["hidden_size"],
        epsilon=config["layer_norm_eps"],
    )


def read_tensors(path: Path) -> dict[str, Array]:
    """Read the tensors by name, one at a time so that the file is never in memory twice."""
    try:
        with safe_open(path, framework="numpy") as tensors:
            return {name.removeprefix("bert."): tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise WeightsUnfit(f"`{path.name}` cannot be read: {error}") from error


def build_graph(tensors: Mapping[str, Array], shape: EncoderShape, pooling: Pooling) -> OnnxGraphBuilder:
    """Build the graph from the embeddings of words to unit vectors.

    Trained weights of 8 bits come with a `<layer>.scale` for each output and are multiplied as integers. Others
    are multiplied in blocks of 8 bits, where their width allows.
    """
    graph, mask, bias = _begin(shape)
    hidden = _embeddings(graph, tensors, shape)
    hidden = _layers(graph, tensors, shape, hidden=hidden, bias=bias, numbers=range(shape.layers))
    pooled = _pool_mean(graph, hidden, mask) if pooling is Pooling.MEAN else _first(graph, hidden)
    _add_unit_vector_output(graph, pooled)
    return graph


def build_note_graph(tensors: Mapping[str, Array], shape: EncoderShape, *, alone: int) -> OnnxGraphBuilder:
    """Build the first part of a split reader: from the tokens of notes to their states after the layers that read a
    note alone."""
    graph, _, bias = _begin(shape)
    hidden = _embeddings(graph, tensors, shape)
    hidden = _layers(graph, tensors, shape, hidden=hidden, bias=bias, numbers=range(alone))
    graph.nodes.append(helper.make_node("Identity", [hidden], ["states"]))
    return graph


def build_message_graph(tensors: Mapping[str, Array], shape: EncoderShape, *, alone: int) -> OnnxGraphBuilder:
    """Build the part of a split reader that reads a message: its states before each layer in which notes see it."""
    graph, _, bias = _begin(shape)
    hidden = _embeddings(graph, tensors, shape, segment=1)
    seen = []
    for number in range(shape.layers):
        if number >= alone:
            seen.append(hidden)
        if number < shape.layers - 1:
            hidden = _layers(graph, tensors, shape, hidden=hidden, bias=bias, numbers=[number])
    graph.nodes.append(helper.make_node("Concat", seen, ["states"], axis=0))
    return graph


def build_pair_graph(tensors: Mapping[str, Array], shape: EncoderShape, *, alone: int) -> OnnxGraphBuilder:
    """Build the last part of a split reader: from the states of notes and of one message to unit vectors."""
    graph, mask, bias = _begin(shape)
    hidden = "note_states"
    for place, number in enumerate(range(alone, shape.layers)):
        at = graph.whole(f"layer_{place}", place)
        message = graph.node("Gather", ["message_states", at], axis=0)
        hidden = _layers(graph, tensors, shape, hidden=hidden, bias=bias, numbers=[number], beside=message)
    _add_unit_vector_output(graph, _pool_mean(graph, hidden, mask))
    return graph


WORDS = "word_embeddings"
MASK = {"attention_mask": (int(TensorProto.INT64), ("batch", "length"))}
TEXTS = {WORDS: (int(TensorProto.FLOAT), ("batch", "length", "hidden")), **MASK}


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPorts:
    """What goes into a graph and what comes out of it."""

    inputs: Mapping[str, tuple[int, Sequence[str]]] = field(default_factory=TEXTS.copy)
    """Kind and axes of each; the axis `hidden` is as wide as the encoder."""
    output: str = "vectors"
    axes: int = 1
    """Of the output, before the one that is as wide as the encoder."""


TEXTS_TO_VECTORS = GraphPorts()
TEXTS_TO_STATES = GraphPorts(output="states", axes=2)
STATES_TO_VECTORS = GraphPorts(
    inputs={
        "note_states": (int(TensorProto.FLOAT), ("batch", "length", "hidden")),
        "message_states": (int(TensorProto.FLOAT), ("layers", "message_length", "hidden")),
        **MASK,
    }
)


def to_onnx(graph: OnnxGraphBuilder, dimensions: int, ports: GraphPorts = TEXTS_TO_VECTORS) -> bytes:
    """Serialize the graph without its arrays: they are passed to the runtime as they are."""
    inputs = [
        helper.make_tensor_value_info(name, kind, [dimensions if axis == "hidden" else axis for axis in axes])
        for name, (kind, axes) in ports.inputs.items()
    ]
    axes = [f"axis_{number}" for number in range(ports.axes)]
    output = helper.make_tensor_value_info(ports.output, TensorProto.FLOAT, [*axes, dimensions])
    arrays = [_build_tensor_proto(name, array) for name, array in graph.arrays.items()]
    proto = helper.make_graph(graph.nodes, "bert", inputs, [output], arrays)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(RUNTIME_DOMAIN, 1)]
    model = helper.make_model(proto, opset_imports=opsets, ir_version=IR_VERSION)
    return bytes(model.SerializeToString())


_LOADED: WeakValueDictionary[str, Array] = WeakValueDictionary()


def load_word_embeddings(source: Path, tensors: Mapping[str, Array]) -> Array:
    """The embeddings of all words, one array for all encoders of this process that start from the same file."""
    return _LOADED.setdefault(str(source), np.ascontiguousarray(tensors["embeddings.word_embeddings.weight"]))


def select_large_arrays(graph: OnnxGraphBuilder) -> dict[str, Array]:
    """Return the weights that are passed to the runtime beside the graph."""
    return {name: array for name, array in graph.arrays.items() if is_large(array)}


def is_large(array: Array) -> bool:
    """Whether an array is passed separately; small constants stay in the graph, where they can be folded."""
    return array.size > 16


def _build_tensor_proto(name: str, array: Array) -> onnx.TensorProto:
    tensor = onnx.TensorProto(name=name, data_type=helper.np_dtype_to_tensor_dtype(array.dtype), dims=array.shape)
    if is_large(array):
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="handed over in memory")
    else:
        tensor.raw_data = array.tobytes()
    return tensor


def _begin(shape: EncoderShape) -> tuple[OnnxGraphBuilder, str, str]:
    """A graph with the constants of its layers, the mask of its tokens, and the bias of their attention."""
    graph = OnnxGraphBuilder()
    graph.whole("split_heads", 0, 0, shape.heads, shape.hidden // shape.heads)
    graph.whole("join_heads", 0, 0, shape.hidden)
    graph.number("scale", (shape.hidden / shape.heads) ** -0.5)
    mask = graph.node("Cast", ["attention_mask"], to=TensorProto.FLOAT)
    return graph, mask, _attention_bias(graph, mask)


def _embeddings(graph: OnnxGraphBuilder, tensors: Mapping[str, Array], shape: EncoderShape, *, segment: int = 0) -> str:
    # A text has only one segment, so its embedding is added to every position.
    added = tensors["embeddings.token_type_embeddings.weight"][segment]
    positions = graph.array("positions", tensors["embeddings.position_embeddings.weight"] + added)
    start = graph.whole("start", 0)
    length = graph.node("Shape", [WORDS], start=1, end=2)
    at = graph.node("Slice", [positions, start, length, start])
    summed = graph.node("Add", [WORDS, at])
    return _layer_norm(graph, tensors, shape, hidden=summed, name="embeddings.LayerNorm")


def _attention_bias(graph: OnnxGraphBuilder, mask: str) -> str:
    padding = graph.node("Sub", [graph.number("one", 1.0), mask])
    bias = graph.node("Mul", [padding, graph.number("masked", MASKED)])
    return graph.node("Unsqueeze", [bias, graph.whole("head_axes", 1, 2)])


def _layers(
    graph: OnnxGraphBuilder,
    tensors: Mapping[str, Array],
    shape: EncoderShape,
    *,
    hidden: str,
    bias: str,
    numbers: Iterable[int],
    beside: str = "",
) -> str:
    """Layers whose tokens attend to each other, and to those of one text `beside` them."""
    for prefix in (f"encoder.layer.{number}." for number in numbers):
        context = _attention(graph, tensors, hidden=hidden, bias=bias, prefix=prefix + "attention.self.", beside=beside)
        out = _linear(graph, tensors, hidden=context, name=prefix + "attention.output.dense")
        summed = graph.node("Add", [out, hidden])
        hidden = _layer_norm(graph, tensors, shape, hidden=summed, name=prefix + "attention.output.LayerNorm")
        wide = _linear(graph, tensors, hidden=hidden, name=prefix + "intermediate.dense")
        out = _linear(graph, tensors, hidden=graph.node("Gelu", [wide]), name=prefix + "output.dense")
        summed = graph.node("Add", [out, hidden])
        hidden = _layer_norm(graph, tensors, shape, hidden=summed, name=prefix + "output.LayerNorm")
    return hidden


def _attention(
    graph: OnnxGraphBuilder, tensors: Mapping[str, Array], *, hidden: str, bias: str, prefix: str, beside: str
) -> str:
    def heads(name: str, order: tuple[int, ...], source: str = hidden) -> str:
        flat = _linear(graph, tensors, hidden=source, name=prefix + name)
        return graph.node("Transpose", [graph.node("Reshape", [flat, "split_heads"])], perm=order)

    query, keys, values = heads("query", (0, 2, 1, 3)), (0, 2, 3, 1), (0, 2, 1, 3)
    scores = graph.node("Mul", [graph.node("MatMul", [query, heads("key", keys)]), "scale"])
    scores = graph.node("Add", [scores, bias])
    if not beside:
        shares = graph.node("Softmax", [scores], axis=-1)
        context = graph.node("MatMul", [shares, heads("value", values)])
    else:
        # The text beside is one for the whole batch: products are broadcast, nothing is copied for each row.
        other = graph.node("Mul", [graph.node("MatMul", [query, heads("key", keys, beside)]), "scale"])
        shares = graph.node("Softmax", [graph.node("Concat", [scores, other], axis=-1)], axis=-1)
        length, end = graph.node("Shape", [hidden], start=1, end=2), graph.whole("no_end", np.iinfo(np.int64).max)
        start, axis = graph.whole("start", 0), graph.whole("score_axis", 3)
        to_own, to_other = (graph.node("Slice", [shares, *cut, axis]) for cut in ((start, length), (length, end)))
        context = graph.node(
            "Add",
            [
                graph.node("MatMul", [to_own, heads("value", values)]),
                graph.node("MatMul", [to_other, heads("value", values, beside)]),
            ],
        )
    return graph.node("Reshape", [graph.node("Transpose", [context], perm=(0, 2, 1, 3)), "join_heads"])


def _linear(graph: OnnxGraphBuilder, tensors: Mapping[str, Array], *, hidden: str, name: str) -> str:
    weight = tensors[name + ".weight"]
    if name + ".scale" in tensors:
        product = _integer_product(graph, tensors, hidden=hidden, name=name)
    elif weight.shape[1] % BLOCK:
        product = graph.node("MatMul", [hidden, graph.array(name + ".weight", weight.T)])
    else:
        product = _block_product(graph, weight, hidden=hidden, name=name)
    return graph.node("Add", [product, graph.array(name + ".bias", tensors[name + ".bias"])])


def _block_product(graph: OnnxGraphBuilder, weight: Array, *, hidden: str, name: str) -> str:
    outputs, inputs = weight.shape
    blocks = weight.reshape(outputs, inputs // BLOCK, BLOCK)
    scales = np.maximum(np.abs(blocks).max(axis=2), np.finfo(np.float32).tiny) / 127
    numbers = (np.rint(blocks / scales[:, :, np.newaxis]) + 128).astype(np.uint8)
    return graph.node(
        "MatMulNBits",
        [hidden, graph.array(name + ".blocks", numbers), graph.array(name + ".scales", scales.astype(np.float32))],
        domain=RUNTIME_DOMAIN,
        K=inputs,
        N=outputs,
        bits=8,
        block_size=BLOCK,
        accuracy_level=4,  # rows of the other side, too, are multiplied as 8 bits
    )


def _integer_product(graph: OnnxGraphBuilder, tensors: Mapping[str, Array], *, hidden: str, name: str) -> str:
    """Multiply integers. Each token has a scale of its own, so that a text gets the same result in any batch."""
    weight = graph.array(name + ".weight", tensors[name + ".weight"].T)
    scale = graph.array(name + ".scale", tensors[name + ".scale"])
    inputs, outputs = graph.arrays[weight].shape
    numbers, size, axes = f"{hidden}_numbers", f"{hidden}_size", f"{hidden}_axes"
    middle = graph.array("middle", np.array([128], dtype=np.uint8))
    if numbers not in graph.quantized:
        graph.quantized.add(numbers)
        # A row for each token: one operator then turns them into numbers, each by its own scale.
        tokens = graph.node("Reshape", [hidden, graph.whole(f"rows_of_{inputs}", -1, inputs)])
        if name + ".leveled" in tensors:
            tokens = graph.node("Div", [tokens, graph.array(name + ".leveled", tensors[name + ".leveled"])])
        largest = graph.node("ReduceMax", [graph.node("Abs", [tokens]), graph.whole("row_axis", 1)], keepdims=0)
        graph.nodes.append(helper.make_node("Mul", [largest, graph.number("step", 1 / 127)], [size]))
        middles = graph.node("Expand", [middle, graph.node("Shape", [size])])
        graph.nodes.append(helper.make_node("QuantizeLinear", [tokens, size, middles], [numbers], axis=0))
        graph.nodes.append(helper.make_node("Shape", [hidden], [axes], end=-1))
    product = graph.node("MatMulInteger", [numbers, weight, middle])
    product = graph.node("Mul", [graph.node("DequantizeLinear", [product, size], axis=0), scale])
    shape = graph.node("Concat", [axes, graph.whole(f"width_of_{outputs}", outputs)], axis=0)
    return graph.node("Reshape", [product, shape])


def quantize_weights(tensors: Mapping[str, Array], ranges: Mapping[str, Array]) -> dict[str, Array]:
    """Turn the weights of all layers into integers of 8 bits, with a scale for each output.

    A few channels of the states are many times as large as the others, whose numbers would lose most of their digits.
    `ranges` says how large each channel gets before a product; its excess is moved into the weights, which is exact
    (SmoothQuant, Xiao and others 2023).
    """
    linear = re.compile(r"(encoder\.layer\.\d+\.(?:attention\.self|.+\.dense))(?:\.query|\.key|\.value)?\.weight")
    groups: dict[str, list[str]] = {}
    for name in tensors:
        if found := linear.fullmatch(name):
            groups.setdefault(found[1], []).append(name.removesuffix(".weight"))
    quantized = dict(tensors)
    for group, names in groups.items():
        weights = [tensors[f"{name}.weight"] for name in names]
        leveled = np.ones(weights[0].shape[1], np.float32)
        if group in ranges:
            largest = np.abs(np.concatenate(weights)).max(axis=0)
            leveled = ranges[group] ** LEVELED / np.maximum(largest, TINY) ** (1 - LEVELED)
        for name, weight in zip(names, weights, strict=True):
            scale = np.maximum(np.abs(weight * leveled).max(axis=1), TINY) / 127
            quantized[f"{name}.weight"] = np.rint(weight * leveled / scale[:, np.newaxis]).astype(np.int8)
            quantized[f"{name}.scale"] = scale.astype(np.float32)
            if group in ranges:
                quantized[f"{name}.leveled"] = leveled.astype(np.float32)
    return quantized


def _layer_norm(
    graph: OnnxGraphBuilder, tensors: Mapping[str, Array], shape: EncoderShape, *, hidden: str, name: str
) -> str:
    weight = graph.array(name + ".weight", tensors[name + ".weight"])
    bias = graph.array(name + ".bias", tensors[name + ".bias"])
    return graph.node("LayerNormalization", [hidden, weight, bias], axis=-1, epsilon=shape.epsilon)


def _pool_mean(graph: OnnxGraphBuilder, hidden: str, mask: str) -> str:
    """Sum over real tokens: the mean up to a factor that normalization removes."""
    counted = graph.node("Mul", [hidden, graph.node("Unsqueeze", [mask, graph.whole("last_axis", 2)])])
    return graph.node("ReduceSum", [counted, graph.whole("length_axis", 1)], keepdims=0)


def _first(graph: OnnxGraphBuilder, hidden: str) -> str:
    return graph.node("Gather", [hidden, graph.array("first", np.array(0, dtype=np.int64))], axis=1)


def _add_unit_vector_output(graph: OnnxGraphBuilder, pooled: str) -> None:
    length = graph.node("ReduceL2", [pooled, graph.whole("width_axis", 1)], keepdims=1)
    least = graph.node("Max", [length, graph.number("least", 1e-12)])
    graph.nodes.append(helper.make_node("Div", [pooled, least], ["vectors"]))
