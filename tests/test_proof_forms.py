"""How an answer is written does not change what is proved of it: the same claims in other forms stand the same."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable

import pytest

from rag.grounding import prove

PASSAGES = [
    "The pump is started with `pump --no-wait`, after its filter was cleaned. It moves 40 litres a minute. A full tank "
    "lasts for the whole afternoon, and Denmark is where most of the tanks are made.",
    "Cleaning takes three steps. Close the valve. Take the filter out and rinse it. Put the filter back.",
]
ANSWER = """\
The pump moves 40 litres a minute, and a full tank lasts for the whole afternoon [1].

Cleaning takes three steps [2]:

1. Close the valve.
2. Take the filter out and rinse it.
3. Put the filter back.

It is started with `pump --no-wait` after its filter was cleaned [1].
The pump pushes 55 litres a minute [1]."""
LEADS = (
    "According to the book, ", "As described in the passages, ", "Based on the provided passages, ", "Basically, ",
    "Importantly, ", "In a nutshell, ", "Note that ", "Put simply, ", "TL;DR: ", "**Short answer:** ",
)  # fmt: skip


def standings(answer: str) -> list[str]:
    return [sentence.standing for sentence in prove(answer, PASSAGES).sentences if sentence.standing != "frame"]


def test_the_answer_has_every_standing_but_one() -> None:
    assert standings(ANSWER) == ["supported"] * 5 + ["contradicted"]


def wrapped(answer: str) -> str:
    lines = (line if re.match(r"\d\.", line) else textwrap.fill(line, 22) for line in answer.split("\n"))
    return "\n".join(lines)


@pytest.mark.parametrize(
    "written",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: re.sub(r"^(\d)\. ", r"\1) ", text, flags=re.MULTILINE),
        lambda text: re.sub(r"^\d\. ", "* ", text, flags=re.MULTILINE),
        lambda text: re.sub(r"^(\d)\. ", r"**Step \1:** ", text, flags=re.MULTILINE),
        lambda text: re.sub(r"^", "> ", text, flags=re.MULTILINE),
        lambda text: re.sub(r"(?<=\w)-(?=\w)", "\u2011", text),
        lambda text: re.sub(r"\[(\d)\]", r"【\1】", text),
        lambda text: re.sub(r"\[(\d)\]", r"\\[\1\\]", text),
        lambda text: re.sub(r" \[(\d)\]\.", r". \\[\1\\]", text),
        lambda text: re.sub(r" \[(\d)\]", r"[\1]", text),
        lambda text: re.sub(r" \[(\d)\]\.", r". [\1]", text),
        lambda text: re.sub(r"\b(three|tank|filter|minute)\b", r"**\1**", text),
        lambda text: re.sub(r"\b(three|tank|filter|minute)\b", r"_\1_", text),
        wrapped,
    ],
    ids=[
        "CRLF",
        "parentheses",
        "bullets",
        "steps",
        "quoted",
        "hyphens",
        "brackets",
        "escaped",
        "escaped after",
        "joined",
        "after",
        "bold",
        "emphasised",
        "wrapped",
    ],
)
def test_an_answer_in_another_form_stands_the_same(written: Callable[[str], str]) -> None:
    assert standings(written(ANSWER)) == standings(ANSWER)


@pytest.mark.parametrize("lead", LEADS)
def test_words_before_a_claim_are_no_part_of_it(lead: str) -> None:
    assert standings(f"{lead}the pump moves 40 litres a minute [1].") == ["supported"]
    assert standings(f"{lead}the pump moves 55 litres a minute [1].") == ["contradicted"]
    assert standings(f"{lead}these are the steps:\n\n- Close the valve. [2]\n- Rinse the filter. [2]") == [
        "supported",
        "supported",
    ]


@pytest.mark.parametrize(
    "answer",
    [
        "A full tank lasts for the\nwhole afternoon [1].",
        "It is started with\n`pump --no-wait` [1].",
        "The tanks are made in\nDenmark [1].",
    ],
)
def test_a_line_that_ends_in_the_middle_of_a_clause_goes_on_in_the_next(answer: str) -> None:
    assert standings(answer) == ["supported"]
    assert len(prove(answer, PASSAGES).sentences) == 1


def test_lines_that_are_whole_are_sentences_of_their_own() -> None:
    proof = prove("The pump moves 40 litres a minute [1]\nCleaning takes three steps [2]", PASSAGES)
    assert [sentence.passages for sentence in proof.sentences] == [(1,), (2,)]


INSTALL = "Install it:\n\n```bash\npip install uv\nuv sync --frozen\n```\n"


@pytest.mark.parametrize("sign", ["> ", ">", "> > "])
def test_a_block_of_code_in_a_quotation_is_code(sign: str) -> None:
    def quoted(code: str) -> str:
        return re.sub(r"^", sign, f"```bash\n{code}\n```", flags=re.MULTILINE)

    held = prove(f"{quoted('pip install uv')}\n\nThen it is installed [1].", [INSTALL])
    assert held.sentences[0].text == quoted("pip install uv")
    assert [sentence.standing for sentence in held.sentences] == ["supported", "supported"]
    assert prove(f"{quoted('pip install evil')}\n[1]", [INSTALL]).sentences[0].standing == "contradicted"


def test_a_fence_that_a_model_forgets_in_a_quotation_is_closed_there() -> None:
    assert prove("> ```bash\n> pip install uv", [INSTALL]).text.startswith("> ```bash\n> pip install uv\n> ```\n")
