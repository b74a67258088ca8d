"""The token bound of `rag.embedding.hosted.most_tokens` compared with a real tokenizer.

    python -m bench.token_bound FOLDER...

Cuts the Markdown files in the folders into pieces of 1,400 characters. Prints the word pieces of BERT's tokenizer
divided by the bound, and the characters divided by the bound, at the percentiles 0, 1, 50, 99 and 100.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tokenizers import BertWordPieceTokenizer

from rag.embedding.hosted import most_tokens
from rag.embedding.local import VOCABULARY

SIZE = 1400  # characters of a piece
SHORTEST = 1000  # shorter remainders of a file are left out


def pieces(folders: list[str]) -> Iterator[str]:
    for file in sorted(file for folder in folders for file in Path(folder).rglob("*.md*")):
        text = file.read_text(encoding="utf-8", errors="replace")
        for begin in range(0, len(text), SIZE):
            if len(text) - begin >= SHORTEST:
                yield text[begin : begin + SIZE]


def main(folders: list[str]) -> None:
    tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
    ratios, lengths = [], []
    for piece in pieces(folders):
        bound = most_tokens(piece)
        ratios.append(len(tokenizer.encode(piece, add_special_tokens=False).ids) / bound)
        lengths.append(len(piece) / bound)
    print(f"{len(ratios)} pieces")
    for name, values in (("word pieces / bound", sorted(ratios)), ("characters / bound", sorted(lengths))):
        last = len(values) - 1
        print(name, *(f"{values[round(last * share)]:.2f}" for share in (0, 0.01, 0.5, 0.99, 1)))


if __name__ == "__main__":
    main(sys.argv[1:])
