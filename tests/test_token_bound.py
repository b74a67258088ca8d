"""Counting tokens without a tokenizer: never too few."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import BertWordPieceTokenizer

from rag.embedding.hosted import most_tokens
from rag.embedding.local import VOCABULARY

DOCS = Path(__file__).parent.parent / "docs"


def test_no_page_of_the_manual_has_more_word_pieces_than_are_counted() -> None:
    tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        for part in (text[i : i + 1000] for i in range(0, len(text) - 500, 1000)):  # a cut word may cost more
            assert len(tokenizer.encode(part, add_special_tokens=False).ids) <= most_tokens(part), part


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a b", 2), ("robot", 2), ("x == 12", 5), ("QDRANT", 3), ("робот", 3), ("机器人", 3), ("\n\t ", 0)],
)
def test_a_text_counts_by_its_letters_digits_and_marks(text: str, tokens: int) -> None:
    assert most_tokens(text) == tokens
