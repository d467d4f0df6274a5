"""Measures how large each channel of the bundled encoder gets before its products.

`python -m benchmarks.training.ranges` reads messages of `statements.jsonl` and writes the file with which the embedder
turns its weights into integers. A handful of channels is much larger than all others, whatever is read.
"""

import json
from itertools import islice
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper
from safetensors.numpy import save_file

from festinger.embedding.bert import WORDS, Pooling, build_graph, read_shape, read_tensors, select_large_arrays, to_onnx
from festinger.embedding.quiet_onnxruntime import ort
from festinger.embedding.runtime import open_tokenizer, pad_encodings
from festinger.embedding.weights import ALL_MINILM, ranges_path, verify_bundle_folder

EVERY = 10
"""One message in so many is read."""
TOKENS = 256


def measure_ranges() -> dict[str, np.ndarray]:
    """The largest number of each channel, by the products that read it."""
    folder = verify_bundle_folder(ALL_MINILM)
    shape, tensors = read_shape(folder), read_tensors(folder / "model.safetensors")
    graph = build_graph(tensors, shape, Pooling.MEAN)
    model = onnx.load_from_string(to_onnx(graph, shape.hidden))
    norms = [node.output[0] for node in graph.nodes if node.op_type == "LayerNormalization"]
    model.graph.output.extend(helper.make_tensor_value_info(each, TensorProto.FLOAT, None) for each in norms)
    options, large = ort.SessionOptions(), select_large_arrays(graph)
    options.add_external_initializers(list(large), [ort.OrtValue.ortvalue_from_numpy(each) for each in large.values()])
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    tokenizer, words = open_tokenizer(folder, max_tokens=TOKENS), tensors["embeddings.word_embeddings.weight"]
    found = np.zeros((len(norms), shape.hidden), np.float32)
    with Path(__file__).with_name("statements.jsonl").open(encoding="utf-8") as lines:
        for line in islice(lines, None, None, EVERY):
            feed = pad_encodings(tokenizer.encode_batch([json.loads(line)["message"]]))
            states = session.run(norms, {WORDS: words[feed["input_ids"]], "attention_mask": feed["attention_mask"]})
            found = np.maximum(found, [np.abs(each[0]).max(axis=0) for each in states])
    # Norms come in the order in which they are read: before the attention of a layer, then before its wide product.
    names = [
        f"encoder.layer.{number}.{part}"
        for number in range(shape.layers)
        for part in ("attention.self", "intermediate.dense")
    ]
    return dict(zip(names, found, strict=False))


if __name__ == "__main__":
    save_file(measure_ranges(), ranges_path())
