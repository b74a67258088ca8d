"""Whether a sentence is in another language than the passages, told by its script and its small words."""

from __future__ import annotations

import pytest

from rag.text.language import Tongue

ENGLISH = Tongue("A node is a process that computes. Nodes exchange messages over topics, and each of them has a name.")
GERMAN = Tongue(
    "Ein Knoten ist ein Prozess, der etwas berechnet. Die Knoten tauschen über Themen, das sind benannte Busse, "
    "Nachrichten aus, und jeder von ihnen hat einen Namen. Wenn der Roboter fährt, lesen sie die Sensoren."
)


@pytest.mark.parametrize(
    "sentence",
    ["Ein Knoten ist ein Prozess, der etwas berechnet.", "Un nœud est un processus qui effectue des calculs.",
     "El nodo es un proceso que calcula.", "Узел — это процесс.", "节点是一个进程。", "ノードはプロセスです。"],
)  # fmt: skip
def test_other_languages_are_foreign_to_english_passages(sentence: str) -> None:
    assert ENGLISH.is_foreign(sentence)


@pytest.mark.parametrize(
    "sentence", ["A node is a process.", "Cows fly over the wooden fence at night.", "`der die`", ""]
)
def test_the_same_language_is_not_whatever_it_says(sentence: str) -> None:
    assert not ENGLISH.is_foreign(sentence)


def test_english_is_foreign_to_german_passages_and_german_is_not() -> None:
    assert GERMAN.is_foreign("A node is a process that computes something.")
    assert not GERMAN.is_foreign("Wenn die Kuh fliegt, hat der Mond einen Namen.")


def test_nothing_is_foreign_to_no_text() -> None:
    assert not Tongue("").is_foreign("Ein Knoten ist ein Prozess.")
