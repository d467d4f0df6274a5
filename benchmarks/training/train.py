"""Trains one of the readers, and writes it as 8-bit layers for the bundled encoder. Needs PyTorch.

    python benchmarks/training/train.py ROWS TEACHERS STUDENT OUT

`ROWS` is what `relations` or `applies` write: `text`, `label` (a class), `fold` and `source`. `TEACHERS` (separated by
commas) and `STUDENT` are folders with `model.safetensors` and `tokenizer.json`: the bundled reranker and bge-small
(twelve layers; `unpack` reads them from their quantized files), and all-MiniLM-L6-v2 (six). A teacher learns from the
labels; the student from the labels and from what the teachers say of all rows on average, with its embeddings frozen, so
that the embedder's can be used. What a teacher says is kept in `OUT`'s folder, so teachers can learn side by side with
`-` for the student. One fold is held out of all, and the printed figures are from it. Minutes on a GPU.
"""

import gzip
import json
import math
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save_file
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional
from transformers import BertConfig, BertModel

HELD = 0
"""The fold that is not learned from."""
SHARE_UNRELATED = 0.5
"""Share of a person's rows of class 0 that an epoch reads, each weighed accordingly."""
SMOOTHING = 0.1
SOFTNESS = 2.0
"""How much the teacher's answers are softened."""
TRUST = 0.6
"""Weight of the teacher's answer beside the label."""
EPOCHS = 8
"""Times that the student reads the rows."""
BARS = (0.5, 0.7, 0.8, 0.9)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

Row = dict[str, Any]


class Reader(nn.Module):
    def __init__(self, folder: Path, classes: int, *, frozen: bool) -> None:
        super().__init__()
        weights = {name: value.float() for name, value in load_file(folder / "model.safetensors").items()}
        layers = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer"))
        shape = {"hidden_size": 384, "num_hidden_layers": layers, "num_attention_heads": 12, "intermediate_size": 1536}
        self.encoder = BertModel(BertConfig(vocab_size=30522, **shape), add_pooling_layer=False)
        self.encoder.load_state_dict(weights, strict=False)
        self.encoder.embeddings.requires_grad_(not frozen)
        self.head = nn.Linear(384, classes)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        # Unit length, as the exported graph gives it; scaled so that the head has room.
        return self.head(functional.normalize((hidden * mask.unsqueeze(-1)).sum(1).float(), dim=-1) * 20)


def encode(tokenizer: Tokenizer, rows: list[Row]) -> None:
    for row, encoded in zip(rows, tokenizer.encode_batch([row["text"] for row in rows]), strict=True):
        row["ids"] = torch.tensor(encoded.ids)


def pad(rows: list[Row]) -> tuple[torch.Tensor, torch.Tensor]:
    ids = nn.utils.rnn.pad_sequence([row["ids"] for row in rows], batch_first=True)
    return ids.to(DEVICE), (ids != 0).float().to(DEVICE)


def batches(rows: list[Row], size: int) -> Iterator[list[Row]]:
    """Texts of about the same length together, in random order."""
    near = sorted(rows, key=lambda row: len(row["ids"]) * (0.8 + 0.4 * random.random()))
    parts = [near[at : at + size] for at in range(0, len(near), size)]
    random.shuffle(parts)
    yield from parts


def loss_of(out: torch.Tensor, rows: list[Row]) -> torch.Tensor:
    labels = torch.tensor([-1 if row["label"] is None else row["label"] for row in rows], device=DEVICE)
    rare = [1 / SHARE_UNRELATED if row["label"] == 0 and row["source"] == "people" else 1.0 for row in rows]
    weights = torch.tensor(rare, device=DEVICE)
    known = labels >= 0
    losses = functional.cross_entropy(out, labels.clamp(min=0), label_smoothing=SMOOTHING, reduction="none") * known
    if "taught" in rows[0]:
        taught = functional.softmax(torch.stack([row["taught"] for row in rows]).to(DEVICE) / SOFTNESS, -1)
        apart = functional.kl_div(functional.log_softmax(out / SOFTNESS, -1), taught, reduction="none").sum(-1)
        apart = apart * SOFTNESS**2
        losses = torch.where(known, (1 - TRUST) * losses + TRUST * apart, apart)
    return (losses * weights).sum() / weights.sum()


def train(model: Reader, epochs: list[list[Row]], *, rate: float, size: int) -> Reader:
    layers = [each for name, each in model.named_parameters() if each.requires_grad and not name.startswith("head")]
    optimizer = torch.optim.AdamW(
        [{"params": layers, "lr": rate}, {"params": model.head.parameters(), "lr": 1e-3}], weight_decay=0.01
    )
    steps = sum(math.ceil(len(epoch) / size) for epoch in epochs)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, step / max(1, 0.06 * steps)) * max(0.0, 1 - step / steps)
    )
    model.to(DEVICE).train()
    for number, epoch in enumerate(epochs):
        total, begun = 0.0, time.monotonic()
        for rows in batches(epoch, size):
            with torch.autocast(DEVICE, dtype=torch.bfloat16):
                out = model(*pad(rows))
            loss = loss_of(out.float(), rows)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item() * len(rows)
        print(f"epoch {number}: loss {total / len(epoch):.4f}, {time.monotonic() - begun:.0f} s", flush=True)
    return model.eval()


@torch.no_grad()
def guess(model: Reader, rows: list[Row]) -> list[torch.Tensor]:
    order = sorted(range(len(rows)), key=lambda at: len(rows[at]["ids"]))
    found: dict[int, torch.Tensor] = {}
    for start in range(0, len(order), 512):
        places = order[start : start + 512]
        found.update(zip(places, model(*pad([rows[at] for at in places])).float().cpu(), strict=True))
    return [found[at] for at in range(len(rows))]


def report(model: Reader, held: list[Row]) -> None:
    for source in sorted({row["source"] for row in held}):
        _report(model, source, [row for row in held if row["source"] == source])


def _report(model: Reader, source: str, rows: list[Row]) -> None:
    shares = torch.softmax(torch.stack(guess(model, rows)), -1)
    labels = torch.tensor([row["label"] for row in rows])
    print(f"{source}: {len(rows)} held out: {(shares.argmax(-1) == labels).float().mean():.3f} right")
    for label in range(1, shares.shape[1]):
        for bar in BARS:
            taken = shares[:, label] >= bar
            right = (taken & (labels == label)).sum()
            precision, recall = right / taken.sum().clamp(min=1), right / (labels == label).sum().clamp(min=1)
            print(f"  class {label} from {bar}: precision {precision:.3f}, recall {recall:.3f}")


def unpack(source: Path) -> dict[str, np.ndarray]:
    """The float weights of a BERT whose matrices are stored quantized in an ONNX file."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(source).graph
    stored = {each.name: numpy_helper.to_array(each) for each in graph.initializer}

    def opened(name: str) -> np.ndarray:
        base = name.removesuffix("_quantized")
        return (stored[name].astype(np.float32) - stored[f"{base}_zero_point"]) * stored[f"{base}_scale"]

    plain = re.compile(r"(?:bert\.)?((?:embeddings|encoder)\..*(?:weight|bias))")
    found = {match[1]: array for name, array in stored.items() if (match := plain.fullmatch(name))}
    found |= {
        name.removeprefix("bert.").removesuffix("_quantized"): opened(name)
        for name in stored
        if "embeddings" in name and name.endswith("_quantized")
    }
    for node in graph.node:
        if node.op_type == "MatMulInteger" and (match := re.search(r"encoder/(layer\.\d+/.*)/MatMul", node.name)):
            found[f"encoder.{match[1].replace('/', '.')}.weight"] = opened(node.input[1]).T
    return found


def quantized(model: Reader) -> dict[str, np.ndarray]:
    """The layers as 8-bit matrices with one scale for each output; the rest as it is."""
    found: dict[str, np.ndarray] = {}
    for name, value in model.state_dict().items():
        array = value.float().cpu().numpy()
        key = name.removeprefix("encoder.")
        if key.startswith("embeddings."):
            continue
        if array.ndim == 2 and not key.startswith("head"):
            scale = np.abs(array).max(1) / 127
            found[key] = np.round(array / scale[:, None]).astype(np.int8)
            found[key.removesuffix("weight") + "scale"] = scale.astype(np.float32)
        else:
            found[key] = array.astype(np.float16)
    if len(found["head.bias"]) == 2:  # a yes-or-no question needs one number
        found |= {name: found[name][1:] - found[name][:1] for name in ("head.weight", "head.bias")}
    return found


def main(source: Path, teacher_folders: list[Path], student_folder: Path, out: Path) -> None:
    torch.manual_seed(0)
    random.seed(0)
    tokenizer = Tokenizer.layer_from_file(str(teacher_folders[0] / "tokenizer.json"))
    tokenizer.enable_truncation(128)
    tokenizer.no_padding()
    rows: list[Row] = json.loads(gzip.decompress(source.read_bytes()))
    classes = 1 + max(row["label"] or 0 for row in rows)
    encode(tokenizer, rows)
    learned = [row for row in rows if row["fold"] != HELD]
    held = [row for row in rows if row["fold"] == HELD and row["label"] is not None]
    made = [row for row in learned if row["source"] == "generated"]
    natural = [row for row in learned if row["source"] not in ("generated", "unlabelled")]
    extra = [row for row in learned if row["source"] == "unlabelled"]

    def epoch(*, last: bool) -> list[Row]:
        kept = [r for r in natural if r["label"] or r["source"] != "people" or random.random() < SHARE_UNRELATED]
        return kept + random.sample(made, len(made) // (4 if last else 2))

    def epochs(count: int, more: Callable[[], list[Row]]) -> list[list[Row]]:
        return [epoch(last=number == count - 1) + more() for number in range(count)]

    said = []
    for folder in teacher_folders:
        kept = out.parent / f"{folder.name}.npy"
        if not kept.exists():
            teacher = train(Reader(folder, classes, frozen=False), epochs(3, list), rate=8e-5, size=96)
            report(teacher, held)
            np.save(kept, torch.stack(guess(teacher, learned)).half().numpy())
        said.append(torch.from_numpy(np.load(kept)).float())
    if not student_folder.exists():
        return
    for row, taught in zip(learned, torch.stack(said).mean(0), strict=True):
        row["taught"] = taught
    some = epochs(EPOCHS, lambda: random.sample(extra, len(extra) * 2 // 3))
    student = train(Reader(student_folder, classes, frozen=True), some, rate=1.4e-4, size=128)
    report(student, held)
    save_file(quantized(student), out)


if __name__ == "__main__":
    rows_file, teachers, *rest = sys.argv[1:]
    main(Path(rows_file), [Path(each) for each in teachers.split(",")], *map(Path, rest))
