"""How well is what texts say outright found? Ours and the plain baseline, on public sentences.

python benchmarks/extract.py --data DIR
"""

import argparse
from pathlib import Path

from festinger.bench.extraction import (
    Found,
    definitions,
    holds_parent,
    parts,
    per_thousand,
    plain_is_a,
    read_definitions,
    read_pairs,
    shipped,
)


def line(name: str, found: Found, more: str = "") -> str:
    return f"{name:24} P {found.precision:.3f}  R {found.recall:.3f}  F1 {found.f1:.3f}  {more}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    folder = options.parse_args().data
    sentences = read_definitions(folder)
    ours, agree = definitions(sentences, shipped)
    print(line("definitions: festinger", ours, f"parent {agree:.3f}"))
    terms = {item.text: item.term for item in sentences}
    plain, agree = definitions(sentences, plain_is_a(terms), agrees=holds_parent)
    print(line("definitions: is_a", plain, f"parent {agree:.3f} (anywhere in the phrase)"))
    pairs = read_pairs(folder)
    print(line("part of: festinger", parts(pairs, shipped)))
    print(
        f"triples per 1,000 other sentences: {per_thousand((p.text for p in pairs if not p.part), shipped):.1f}"
    )


if __name__ == "__main__":
    main()
