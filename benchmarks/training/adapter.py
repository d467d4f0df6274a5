"""Trains a low-rank adapter that turns the bundled MiniLM encoder into a classifier of texts. Needs PyTorch.

    python benchmarks/training/adapter.py FOLDER OUT

`FOLDER` holds `model.safetensors`, `config.json` and `tokenizer.json` of all-MiniLM-L6-v2 and `clauses.json`: rows of
`text`, `label` (a class; two classes make one output) and `fold`, as `statements` writes them. Writes `adapter.safetensors` (float16) and `guesses.json` (probabilities of rows that were held out)
to `OUT`. The adapter is trained on everything, or with `FINAL=0` on all folds but the first, so that the printed figures
are its own. Minutes on a GPU, a quarter of an hour on two cores.
"""

import json
import math
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional
from transformers import BertConfig, BertModel

RANK = 8
ALPHA = 16
EPOCHS = int(os.environ.get("EPOCHS", "6"))
BATCH = int(os.environ.get("BATCH", "32"))
RATE = float(os.environ.get("RATE", "1e-3"))
START = os.environ.get("START", "")
"""An adapter to go on from."""
WARMUP = 0.1
DROPOUT = 0.1
HELD_FOLDS = int(os.environ.get("HELD_FOLDS", "3"))
"""Folds that are held out in turn; all ten would take three times as long and say the same."""
SMOOTHING = 0.05
KEEP = float(os.environ.get("KEEP", "1"))
"""Share of the rows of class 0 that an epoch reads, each weighed accordingly; the rest adds little and takes long."""
FINAL = os.environ.get("FINAL", "1") == "1"
TARGETS = ("query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Adapted(nn.Module):
    """A linear layer that stays as it is, plus a low-rank change."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(RANK, base.in_features) / math.sqrt(base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, RANK))
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.base(hidden) + (self.dropout(hidden) @ self.down.T @ self.up.T) * (ALPHA / RANK)


class Reader(nn.Module):
    def __init__(self, folder: Path, outputs: int) -> None:
        super().__init__()
        config = BertConfig.from_json_file(folder / "config.json")
        self.encoder = BertModel(config, add_pooling_layer=False)
        weights = {name: value.float() for name, value in load_file(folder / "model.safetensors").items()}
        self.encoder.load_state_dict(weights, strict=False)
        self.encoder.requires_grad_(False)
        for name, module in list(self.encoder.named_modules()):
            if isinstance(module, nn.Linear) and name.endswith(TARGETS):
                parent, _, leaf = name.rpartition(".")
                setattr(self.encoder.get_submodule(parent), leaf, Adapted(module))
        self.head = nn.Linear(config.hidden_size, outputs)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        pooled = (hidden * mask.unsqueeze(-1)).sum(1)
        # Unit length, as the exported graph gives it; scaled so that the head has room.
        return self.head(functional.normalize(pooled.float(), dim=-1) * 20)

    def shares(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The probability of each class."""
        out = self(ids, mask)
        if out.shape[-1] > 1:
            return torch.softmax(out, dim=-1)
        yes = torch.sigmoid(out)
        return torch.cat([1 - yes, yes], dim=-1)


def batches(rows: list[dict], size: int) -> Iterator[list[dict]]:
    """Texts of about the same length together, in random order."""
    near = sorted(rows, key=lambda row: len(row["text"]) * (0.8 + 0.4 * random.random()))
    parts = [near[at : at + size] for at in range(0, len(near), size)]
    random.shuffle(parts)
    yield from parts


def loss_of(out: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    weights = torch.where(labels == 0, 1 / KEEP, 1.0)
    if out.shape[-1] > 1:
        losses = functional.cross_entropy(out, labels, label_smoothing=2 * SMOOTHING, reduction="none")
    else:
        smooth = labels.float() * (1 - 2 * SMOOTHING) + SMOOTHING
        losses = functional.binary_cross_entropy_with_logits(out.squeeze(-1), smooth, reduction="none")
    return (losses * weights).sum() / weights.sum()


def encode(tokenizer: Tokenizer, rows: list[dict]) -> tuple[torch.Tensor, torch.Tensor]:
    encoded = tokenizer.encode_batch([row["text"] for row in rows])
    ids = torch.tensor([each.ids for each in encoded], device=DEVICE)
    mask = torch.tensor([each.attention_mask for each in encoded], device=DEVICE)
    return ids, mask


def train(folder: Path, tokenizer: Tokenizer, rows: list[dict], *, outputs: int, seed: int) -> Reader:
    torch.manual_seed(seed)
    random.seed(seed)
    model = Reader(folder, outputs).to(DEVICE)
    if START:
        resume(model, Path(START))
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=RATE, weight_decay=0.01)
    epochs = [[row for row in rows if row["label"] or random.random() < KEEP] for _ in range(EPOCHS)]
    steps = sum(math.ceil(len(epoch) / BATCH) for epoch in epochs)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, step / max(1, WARMUP * steps)) * max(0.0, 1 - step / steps)
    )
    model.train()
    for number, epoch in enumerate(epochs):
        total, begun = 0.0, time.monotonic()
        for batch in batches(epoch, BATCH):
            labels = torch.tensor([row["label"] for row in batch], device=DEVICE)
            with torch.autocast(DEVICE, dtype=torch.bfloat16):
                out = model(*encode(tokenizer, batch))
            loss = loss_of(out.float(), labels)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learned, 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item() * len(batch)
        print(f"epoch {number}: loss {total / len(epoch):.4f}, {time.monotonic() - begun:.0f} s", flush=True)
    return model.eval()


@torch.no_grad()
def guess(model: Reader, tokenizer: Tokenizer, rows: list[dict]) -> list[list[float]]:
    order = sorted(range(len(rows)), key=lambda at: len(rows[at]["text"]))
    found: dict[int, list[float]] = {}
    for start in range(0, len(order), 256):
        places = order[start : start + 256]
        shares = model.shares(*encode(tokenizer, [rows[at] for at in places])).tolist()
        found.update(zip(places, shares, strict=True))
    return [found[at] for at in range(len(rows))]


def area(scores: list[float], labels: list[int]) -> float:
    order = torch.tensor(scores).argsort().argsort() + 1.0
    truth = torch.tensor(labels) == 1
    hits, misses = truth.sum().item(), (~truth).sum().item()
    return (order[truth].sum().item() - hits * (hits + 1) / 2) / (hits * misses)


def main(folder: Path, out: Path) -> None:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding()
    rows = json.loads((folder / "clauses.json").read_text())
    classes = max(row["label"] for row in rows) + 1
    outputs = 1 if classes == 2 else classes
    guesses: dict[int, list[float]] = {}
    for fold in range(HELD_FOLDS):
        kept = [row for row in rows if row["fold"] != fold]
        model = train(folder, tokenizer, kept, outputs=outputs, seed=fold)
        held = [at for at, row in enumerate(rows) if row["fold"] == fold]
        guesses |= dict(zip(held, guess(model, tokenizer, [rows[at] for at in held]), strict=True))
        if fold == 0:
            save(model, out / "adapter.safetensors")
    (out / "guesses.json").write_text(json.dumps(guesses))
    for label in range(1, classes) if guesses else ():
        scores = [shares[label] for shares in guesses.values()]
        truth = [int(rows[at]["label"] == label) for at in guesses]
        print(f"class {label}: {len(rows)} rows, AUC {area(scores, truth):.4f}")
        for bar in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
            taken = [right for value, right in zip(scores, truth, strict=True) if value >= bar]
            print(f"  at {bar}: precision {sum(taken) / max(1, len(taken)):.3f}, recall {sum(taken) / sum(truth):.3f}")
    if FINAL:
        save(train(folder, tokenizer, rows, outputs=outputs, seed=0), out / "adapter.safetensors")


def resume(model: Reader, path: Path) -> None:
    """Set a model to what an adapter holds."""
    kept = {name: value.float().to(DEVICE) for name, value in load_file(path).items()}
    with torch.no_grad():
        model.head.weight.copy_(kept["head.weight"])
        model.head.bias.copy_(kept["head.bias"])
        for name, module in model.encoder.named_modules():
            if isinstance(module, Adapted):
                module.down.copy_(kept[f"{name}.down"] / (ALPHA / RANK))
                module.up.copy_(kept[f"{name}.up"])


def save(model: Reader, path: Path) -> None:
    saved = {"head.weight": model.head.weight.detach(), "head.bias": model.head.bias.detach()}
    for name, module in model.encoder.named_modules():
        if isinstance(module, Adapted):
            saved[f"{name}.down"] = module.down.detach() * (ALPHA / RANK)
            saved[f"{name}.up"] = module.up.detach()
    save_file({name: value.half().cpu().contiguous() for name, value in saved.items()}, path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
