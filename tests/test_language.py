"""Whether a sentence is in another language than English, told by its script and its small words."""

from __future__ import annotations

import pytest

from rag.grounding import check, prove
from rag.text.vocabulary import is_foreign, words_of_text

GERMAN = (
    "Ein Knoten ist ein Prozess, der etwas berechnet. Die Knoten tauschen über Themen, das sind benannte Busse, "
    "Nachrichten aus, und jeder von ihnen hat einen Namen. Ein Knoten wiegt 30 kg."
)


@pytest.mark.parametrize(
    "sentence",
    ["Ein Knoten ist ein Prozess, der etwas berechnet.", "Un nœud est un processus qui effectue des calculs.",
     "El nodo es un proceso que calcula.", "Der Roboter fährt.", "Le robot avance.",
     "Узел — это процесс.", "节点是一个进程。", "ノードはプロセスです。"],
)  # fmt: skip
def test_other_languages_are_told(sentence: str) -> None:
    assert is_foreign(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "A node is a process.",
        "Cows fly over the wooden fence at night.",
        "`der die das ist`",
        "",
        "uv pip",
        "Registry (e.g. HTTP)",
    ],
)
def test_english_is_not_foreign_whatever_it_says(sentence: str) -> None:
    assert not is_foreign(sentence)


def test_code_and_tables_are_in_no_language() -> None:
    table = "| Feature | Gazebo | Isaac Sim |\n|---|---|---|\n| Rendering | OpenGL | RTX Ray Tracing |"
    code = "```bash\ncolcon build --packages-select robot_control\ncolcon test-result --verbose\nrqt_plot joint_states"
    for passage in (table, code):
        verdict = check("Rendering in Isaac Sim is done with RTX ray tracing, and it is free.", [passage])
        assert "language" not in verdict.kinds


def test_words_of_the_book_prove_nothing() -> None:
    assert not is_foreign("Van Gogh painted sunflowers.", words_of_text("Sunflowers by Van Gogh."))
    assert is_foreign("Zyx Qwv Brrt")
    assert not is_foreign("Zyx Qwv Brrt", words_of_text("The Zyx of Qwv is a brrt."))


@pytest.mark.parametrize(
    ("sentence", "standing"),
    [
        ("Ein Knoten ist ein Prozess, der etwas berechnet.", "supported"),
        ("Die Knoten tauschen über Themen Nachrichten aus.", "unconfirmed"),
        ("Das Programm der Roboter verschickt Botschaften.", "unconfirmed"),
        ("Ein Knoten wiegt 77 kg, wie jeder weiß.", "contradicted"),
        ("Knoten stehen auch unter knoten.example beschrieben.", "contradicted"),
    ],
)
def test_of_another_language_only_quotations_numbers_code_and_addresses_are_checked(
    sentence: str, standing: str
) -> None:
    verdict = check(sentence, [GERMAN])
    assert verdict.standing == standing
    assert ("language" in verdict.kinds) == (standing != "supported")


def test_an_answer_that_was_not_checked_says_so() -> None:
    proof = prove("Das Programm verschickt Botschaften an seine Roboter [1].", ["A node is a process that computes."])
    assert proof.text == "Das Programm verschickt Botschaften an seine Roboter [1]. [?]"
    assert proof.notices[-1] == "1 sentence is not in English and was not checked."
