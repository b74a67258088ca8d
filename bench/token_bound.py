"""How far `rag.embedding.hosted.most_tokens` is above a real tokenizer: `python bench/token_bound.py FOLDER...`.

Prints, over pieces of 1,400 characters of the Markdown files below, the word pieces of BERT's tokenizer as a part of
the bound, and the characters for each token of the bound; at 0, 1, 50, 99 and 100 %.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tokenizers import BertWordPieceTokenizer

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.embedding.hosted import most_tokens
from rag.embedding.local import VOCABULARY

SIZE = 1400


def pieces(folders: list[str]) -> Iterator[str]:
    for file in sorted(file for folder in folders for file in Path(folder).rglob("*.md*")):
        text = file.read_text(encoding="utf-8", errors="replace")
        for begin in range(0, len(text), SIZE):
            if len(text) - begin >= 1000:
                yield text[begin : begin + SIZE]


def main(folders: list[str]) -> None:
    tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
    parts, lengths = [], []
    for piece in pieces(folders):
        bound = most_tokens(piece)
        parts.append(len(tokenizer.encode(piece, add_special_tokens=False).ids) / bound)
        lengths.append(len(piece) / bound)
    print(f"{len(parts)} pieces")
    for name, values in (("word pieces / bound", sorted(parts)), ("characters / bound", sorted(lengths))):
        last = len(values) - 1
        print(name, *(f"{values[round(last * share)]:.2f}" for share in (0, 0.01, 0.5, 0.99, 1)))


if __name__ == "__main__":
    main(sys.argv[1:])
