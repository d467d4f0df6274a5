"""Trains the low-rank adapter that turns the bundled MiniLM encoder into a reader of statements. Needs PyTorch.

    python benchmarks/training/encoder.py FOLDER OUT

`FOLDER` holds `model.safetensors`, `config.json` and `tokenizer.json` of all-MiniLM-L6-v2 and `clauses.json`, which
`python -m benchmarks.training.statements --export FOLDER/clauses.json` writes. Cross-validates, then trains on
everything and writes `adapter.safetensors` (float16) and `guesses.json` (out-of-fold probabilities) to `OUT`.
"""

import json
import math
import os
import sys
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
RATE = 1e-3
WARMUP = 0.1
DROPOUT = 0.1
HELD_FOLDS = int(os.environ.get("HELD_FOLDS", "3"))
"""Folds that are held out in turn; all ten would take three times as long and say the same."""
SMOOTHING = 0.05
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
    def __init__(self, folder: Path) -> None:
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
        self.head = nn.Linear(config.hidden_size, 1)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        pooled = (hidden * mask.unsqueeze(-1)).sum(1)
        # Unit length, as the exported graph gives it; scaled so that the head has room.
        return self.head(functional.normalize(pooled, dim=-1) * 20).squeeze(-1)


def batches(rows: list[dict], size: int, *, shuffle: bool) -> Iterator[list[dict]]:
    order = torch.randperm(len(rows)).tolist() if shuffle else list(range(len(rows)))
    for at in range(0, len(order), size):
        yield [rows[place] for place in order[at : at + size]]


def encode(tokenizer: Tokenizer, rows: list[dict]) -> tuple[torch.Tensor, torch.Tensor]:
    encoded = tokenizer.encode_batch([row["text"] for row in rows])
    ids = torch.tensor([each.ids for each in encoded], device=DEVICE)
    mask = torch.tensor([each.attention_mask for each in encoded], device=DEVICE)
    return ids, mask


def train(folder: Path, tokenizer: Tokenizer, rows: list[dict], seed: int) -> Reader:
    torch.manual_seed(seed)
    model = Reader(folder).to(DEVICE)
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=RATE, weight_decay=0.01)
    steps = EPOCHS * math.ceil(len(rows) / BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(1, step / max(1, WARMUP * steps)) * max(0.0, 1 - step / steps),
    )
    model.train()
    for _ in range(EPOCHS):
        for batch in batches(rows, BATCH, shuffle=True):
            labels = torch.tensor([float(row["label"]) for row in batch], device=DEVICE)
            smooth = labels * (1 - 2 * SMOOTHING) + SMOOTHING
            loss = functional.binary_cross_entropy_with_logits(model(*encode(tokenizer, batch)), smooth)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learned, 1.0)
            optimizer.step()
            schedule.step()
    return model.eval()


@torch.no_grad()
def guess(model: Reader, tokenizer: Tokenizer, rows: list[dict]) -> list[float]:
    found: list[float] = []
    for batch in batches(rows, 256, shuffle=False):
        found += torch.sigmoid(model(*encode(tokenizer, batch))).tolist()
    return found


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
    guesses = [0.0] * len(rows)
    for fold in range(HELD_FOLDS):
        model = train(folder, tokenizer, [row for row in rows if row["fold"] != fold], fold)
        held = [at for at, row in enumerate(rows) if row["fold"] == fold]
        for at, value in zip(held, guess(model, tokenizer, [rows[at] for at in held]), strict=True):
            guesses[at] = value
    seen = [at for at, row in enumerate(rows) if row["fold"] < HELD_FOLDS]
    (out / "guesses.json").write_text(json.dumps({at: guesses[at] for at in seen}))
    guesses, labels = [guesses[at] for at in seen], [rows[at]["label"] for at in seen]
    print(f"{len(rows)} clauses, AUC {area(guesses, labels):.4f}")
    for bar in (0.3, 0.4, 0.5, 0.6, 0.7):
        taken = [label for value, label in zip(guesses, labels, strict=True) if value >= bar]
        print(f"  at {bar}: precision {sum(taken) / len(taken):.3f}, recall {sum(taken) / sum(labels):.3f}")
    model = train(folder, tokenizer, rows, 0)
    saved = {"head.weight": model.head.weight.detach(), "head.bias": model.head.bias.detach()}
    for name, module in model.encoder.named_modules():
        if isinstance(module, Adapted):
            saved[f"{name}.down"] = module.down.detach() * (ALPHA / RANK)
            saved[f"{name}.up"] = module.up.detach()
    save_file(
        {name: value.half().cpu().contiguous() for name, value in saved.items()}, out / "adapter.safetensors"
    )
    sample = rows[:200]
    (out / "sample.json").write_text(
        json.dumps(list(zip([r["text"] for r in sample], guess(model, tokenizer, sample), strict=False)))
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
