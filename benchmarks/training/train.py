"""Trains one of the readers, and writes it as 8-bit layers for the bundled encoder. Needs PyTorch.

    python benchmarks/training/train.py ROWS OUT --student FOLDER --teachers FOLDER FOLDER
    python benchmarks/training/train.py ROWS OUT --student FOLDER --reader FILE [--frozen LAYERS]

`ROWS` is what `statements`, `relations` or `applies` write: `text`, `label` (a class), `fold`, `source` and `line`. The
student is a folder with `model.safetensors` and `tokenizer.json` of all-MiniLM-L6-v2 (six layers); its embeddings stay
frozen, so that the embedder's can be used. One fold is held out of all, and the printed figures are from it.

With teachers (the bundled reranker and bge-small, twelve layers; `unpack` reads them from their quantized files), those
learn from the labels, and the student from the labels and from what the teachers say of all rows on average. What a
teacher says is kept in `OUT`'s folder. Minutes on a GPU.

With a reader, that reader goes on learning: from what `ROWS` marks as `fresh` by the labels, and from a sample of the rest
also by its own earlier answers, so that it forgets nothing. With `--frozen`, its first layers stay as they are, and what
they make of each row is computed once: without a GPU, 45,000 rows then take four minutes an epoch on two cores. With
`--blend`, only that share of what it learned is kept, which gives back some of what it knew before.

With `--alone`, texts are pairs and the student reads the first of each alone in that many layers, and only then beside
the second (`SplitReader`): what is kept of a note after those layers need not be computed again for every message.
"""

import argparse
import gzip
import json
import math
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file as load_numpy_file
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
EPOCHS, MORE_EPOCHS = 8, 3
"""Times that the student reads the rows, and that a reader which goes on learning reads the new ones."""
REPEATED = 200_000
"""Earlier rows that are repeated in each epoch of a reader which goes on learning; `--repeated` says otherwise."""
WEIGHTS = {"swapped": 0.5}
"""What rows of a source count for a reader which goes on learning: one swapped pair in eight is labelled wrongly."""
NEWS, NEWS_WEIGHT = 2, 2.0
"""Most new rows are look-alikes of news; news itself counts double, or the reader grows too shy."""
REPORTED = 4_000
"""Earlier rows that are held out of a reader which goes on learning."""
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


class SplitReader(Reader):
    """Reads notes beside messages: a message never sees the note, and a note sees it only after the first layers."""

    def __init__(self, folder: Path, classes: int, *, alone: int) -> None:
        super().__init__(folder, classes, frozen=True)
        self.alone = alone

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, *beside: torch.Tensor) -> torch.Tensor:
        other, other_mask = beside
        message = self.encoder.embeddings(input_ids=other, token_type_ids=torch.ones_like(other))
        note = self.encoder.embeddings(input_ids=ids)
        for number, layer in enumerate(self.encoder.encoder.layer):
            if number < self.alone:
                note = read_layer(layer, note, note, mask)
            else:
                note = read_layer(layer, note, torch.cat([note, message], 1), torch.cat([mask, other_mask], 1))
            message = read_layer(layer, message, message, other_mask)
        return self.head(functional.normalize((note * mask.unsqueeze(-1)).sum(1).float(), dim=-1) * 20)


class TopReader(Reader):
    """Trains its last layers only, on what the first ones made of each row."""

    def __init__(self, folder: Path, classes: int, *, frozen: int) -> None:
        super().__init__(folder, classes, frozen=True)
        self.first_trained = frozen
        self.encoder.encoder.layer[:frozen].requires_grad_(False)

    def forward(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        for layer in self.encoder.encoder.layer[self.first_trained :]:
            hidden = read_layer(layer, hidden, hidden, mask)
        return self.head(functional.normalize((hidden * mask.unsqueeze(-1)).sum(1).float(), dim=-1) * 20)

    @torch.no_grad()
    def read_first(self, rows: list[Row]) -> None:
        """Set what the frozen layers make of each row."""
        for near in in_order(rows):
            ids, mask = pad(near)
            hidden = self.encoder.embeddings(input_ids=ids)
            with torch.autocast(DEVICE, dtype=torch.bfloat16):
                for layer in self.encoder.encoder.layer[: self.first_trained]:
                    hidden = read_layer(layer, hidden, hidden, mask)
            for row, made in zip(near, hidden.bfloat16().cpu(), strict=True):
                row["hidden"] = made[: len(row["ids"])].clone()


def read_layer(layer: nn.Module, hidden: torch.Tensor, seen: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """One layer of an encoder, whose tokens attend to `seen`."""
    own = layer.attention.self

    def heads(linear: nn.Module, given: torch.Tensor) -> torch.Tensor:
        return linear(given).unflatten(-1, (12, 32)).transpose(1, 2)

    context = functional.scaled_dot_product_attention(
        heads(own.query, hidden), heads(own.key, seen), heads(own.value, seen), mask[:, None, None, :] > 0
    )
    hidden = layer.attention.output(context.transpose(1, 2).flatten(2), hidden)
    return layer.output(layer.intermediate(hidden), hidden)


PAIR = " [SEP] "


def encode(tokenizer: Tokenizer, rows: list[Row], *, split: bool = False) -> None:
    """Set the tokens of each row; of the parts of a pair one by one if the reader is split."""
    for row, encoded in zip(rows, tokenizer.encode_batch([row["text"] for row in rows]), strict=True):
        row["ids"] = torch.tensor(encoded.ids)
    if split:
        parts = [row["text"].split(PAIR, 1) for row in rows]
        known = {part for pair in parts for part in pair}
        found = dict(zip(known, tokenizer.encode_batch(list(known)), strict=True))
        for row, (note, message) in zip(rows, parts, strict=True):
            row["parts"] = torch.tensor(found[note].ids), torch.tensor(found[message].ids)


def fields_of(model: Reader, rows: list[Row]) -> tuple[torch.Tensor, ...]:
    if isinstance(model, TopReader):
        hidden = nn.utils.rnn.pad_sequence([row["hidden"] for row in rows], batch_first=True)
        return hidden.float().to(DEVICE), pad(rows)[1]
    if not isinstance(model, SplitReader):
        return pad(rows)
    notes, messages = ([{"ids": row["parts"][at]} for row in rows] for at in (0, 1))
    return *pad(notes), *pad(messages)


def pad(rows: list[Row]) -> tuple[torch.Tensor, torch.Tensor]:
    ids = nn.utils.rnn.pad_sequence([row["ids"] for row in rows], batch_first=True)
    return ids.to(DEVICE), (ids != 0).float().to(DEVICE)


def in_order(rows: list[Row], size: int = 512) -> Iterator[list[Row]]:
    """Texts of the same length together, the short ones first."""
    near = sorted(rows, key=lambda row: len(row["ids"]))
    yield from (near[at : at + size] for at in range(0, len(near), size))


def batches(rows: list[Row], size: int) -> Iterator[list[Row]]:
    """Texts of about the same length together, in random order."""
    near = sorted(rows, key=lambda row: len(row["ids"]) * (0.8 + 0.4 * random.random()))
    parts = [near[at : at + size] for at in range(0, len(near), size)]
    random.shuffle(parts)
    yield from parts


def loss_of(out: torch.Tensor, rows: list[Row]) -> torch.Tensor:
    labels = torch.tensor([-1 if row["label"] is None else row["label"] for row in rows], device=DEVICE)
    weights = torch.tensor([row.get("weight", 1.0) for row in rows], device=DEVICE)
    known = labels >= 0
    losses = functional.cross_entropy(out, labels.clamp(min=0), label_smoothing=SMOOTHING, reduction="none") * known
    is_taught = torch.tensor(["taught" in row for row in rows], device=DEVICE)
    if is_taught.any():
        taught = torch.stack([row.get("taught", torch.zeros(out.shape[-1])) for row in rows]).to(DEVICE)
        taught = functional.softmax(taught / SOFTNESS, -1)
        apart = functional.kl_div(functional.log_softmax(out / SOFTNESS, -1), taught, reduction="none").sum(-1)
        apart = apart * SOFTNESS**2
        losses = torch.where(is_taught, torch.where(known, (1 - TRUST) * losses + TRUST * apart, apart), losses)
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
                out = model(*fields_of(model, rows))
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
    found: dict[int, torch.Tensor] = {}
    for near in in_order(rows):
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=isinstance(model, TopReader)):
            found.update(zip(map(id, near), model(*fields_of(model, near)).float().cpu(), strict=True))
    return [found[id(row)] for row in rows]


def report(model: Reader, held: list[Row]) -> None:
    for source in sorted({row["source"] for row in held}):
        _report(model, source, [row for row in held if row["source"] == source])


def _report(model: Reader, source: str, rows: list[Row]) -> None:
    shares = torch.softmax(torch.stack(guess(model, rows)), -1)
    labels = torch.tensor([row["label"] for row in rows])
    print(f"{source}: {len(rows)} held out: {(shares.argmax(-1) == labels).float().mean():.3f} right")
    if shares.shape[1] == 2:
        ranks = shares[:, 1].argsort().argsort().double() + 1
        yes = labels == 1
        area = (ranks[yes].sum() - yes.sum() * (yes.sum() + 1) / 2) / (yes.sum() * (~yes).sum())
        print(f"  AUC {area:.4f}")
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


def load_reader(model: Reader, source: Path) -> Reader:
    """Put the layers of a trained reader into a model."""
    stored = load_numpy_file(source)
    weights = {}
    for name, array in stored.items():
        scale = stored.get(name.removesuffix("weight") + "scale")
        if name.endswith("scale"):
            continue
        values = array.astype(np.float32) * (scale[:, None] if array.dtype == np.int8 and scale is not None else 1)
        if name.startswith("head") and len(model.head.bias) == 2 and len(values) == 1:
            values = np.concatenate([np.zeros_like(values), values])
        weights[name if name.startswith("head") else f"encoder.{name}"] = torch.from_numpy(values)
    model.load_state_dict(weights, strict=False)
    return model.to(DEVICE).eval()


def teach(rows: list[Row], held: list[Row], classes: int, *, teachers: list[Path], kept_in: Path) -> None:
    """Let teachers learn the rows, and set what they say of each on average."""
    natural, made, _ = by_source(rows)
    said = []
    for folder in teachers:
        kept = kept_in / f"{folder.name}.npy"
        if not kept.exists():
            epochs = [draw(natural, made, last=number == 2) for number in range(3)]
            teacher = train(Reader(folder, classes, frozen=False), epochs, rate=8e-5, size=96)
            report(teacher, held)
            np.save(kept, torch.stack(guess(teacher, rows)).half().numpy())
        said.append(torch.from_numpy(np.load(kept)).float())
    for row, taught in zip(rows, torch.stack(said).mean(0), strict=True):
        row["taught"] = taught


def by_source(rows: list[Row]) -> tuple[list[Row], list[Row], list[Row]]:
    """Rows that people wrote, that were generated, and that have no label."""
    for row in rows:
        if row["label"] == 0 and row["source"] == "people":
            row["weight"] = 1 / SHARE_UNRELATED
    made = [row for row in rows if row["source"] == "generated"]
    extra = [row for row in rows if row["source"] == "unlabelled"]
    return [row for row in rows if row["source"] not in ("generated", "unlabelled")], made, extra


def draw(natural: list[Row], made: list[Row], *, last: bool) -> list[Row]:
    """The rows of one epoch."""
    kept = [r for r in natural if r["label"] or r["source"] != "people" or random.random() < SHARE_UNRELATED]
    return kept + random.sample(made, len(made) // (4 if last else 2))


def make_student(given: argparse.Namespace, classes: int) -> Reader:
    if given.alone:
        return SplitReader(given.student, classes, alone=given.alone)
    if given.frozen:
        return TopReader(given.student, classes, frozen=given.frozen)
    return Reader(given.student, classes, frozen=True)


def main(given: argparse.Namespace) -> None:
    torch.manual_seed(0)
    random.seed(0)
    tokenizer = Tokenizer.from_file(str(given.student / "tokenizer.json"))
    tokenizer.enable_truncation(128)
    tokenizer.no_padding()
    rows: list[Row] = json.loads(gzip.decompress(given.rows.read_bytes()))
    classes = 1 + max(row["label"] or 0 for row in rows)
    if given.reader:
        random.shuffle(rows)
        known = [row for row in rows if not row.get("fresh")]
        rows = [row for row in rows if row.get("fresh")]
        rows += [row for row in known if row["fold"] != HELD][: given.repeated]
        rows += [row for row in known if row["fold"] == HELD and row["label"] is not None][:REPORTED]
    encode(tokenizer, rows, split=given.alone > 0)
    learned = [row for row in rows if row["fold"] != HELD]
    held = [row for row in rows if row["fold"] == HELD and row["label"] is not None]
    student = make_student(given, classes)
    if given.reader:
        load_reader(student, given.reader)
        if isinstance(student, TopReader):
            student.read_first(rows)
        for row in learned:
            row["weight"] = WEIGHTS.get(row["source"], 1.0) * (NEWS_WEIGHT if row["label"] == NEWS else 1.0)
        for row in held:
            row["source"] += " (new)" * row.get("fresh", False)
        report(student, held)
        new, old = [row for row in learned if row.get("fresh")], [row for row in learned if not row.get("fresh")]
        for row, taught in zip(old, guess(student, old), strict=True):
            row["taught"] = taught
        epochs = [new + old for _ in range(MORE_EPOCHS)]
    else:
        teach(learned, held, classes, teachers=given.teachers, kept_in=given.out.parent)
        natural, made, extra = by_source(learned)
        epochs = [
            draw(natural, made, last=number == EPOCHS - 1) + random.sample(extra, len(extra) * 2 // 3)
            for number in range(EPOCHS)
        ]
    before = {name: value.detach().clone() for name, value in student.state_dict().items()}
    train(student, epochs, rate=given.rate, size=128)
    if given.reader:
        after = student.state_dict()
        student.load_state_dict({name: torch.lerp(before[name], after[name], given.blend) for name in after})
    report(student, held)
    save_file(quantized(student), given.out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--student", type=Path, required=True)
    parser.add_argument("--teachers", type=Path, nargs="*", default=[])
    parser.add_argument("--reader", type=Path)
    parser.add_argument("--frozen", type=int, default=0)
    parser.add_argument("--blend", type=float, default=1.0)
    parser.add_argument("--repeated", type=int, default=REPEATED)
    parser.add_argument("--alone", type=int, default=0)
    parser.add_argument("--rate", type=float, default=1.4e-4)
    main(parser.parse_args())
