"""An answer over a book of two passages, written as a model writes it."""

from __future__ import annotations

from rag.answer.writer import AnswerOptions, AnswerWriter
from rag.types import GroundingMode
from tests.fakes import passage

REFUSAL = "I don't have information about that in the book content"
BOOK = (
    passage(
        1,
        "A node is a process that computes. Nodes talk over topics. Set `use_sim_time` first.\n\n"
        "```sh\nros2 run demo talker\nros2 node list\n```\n\nMore stands at https://docs.example/nodes today.",
    ),
    passage(2, "A topic is a named bus.\n\n| Tool | Use |\n|---|---|\n| apt | Debian |\n| dnf | Fedora |\n"),
)
NODE, TALK, TOPIC, FALSE = "A node is a process", "Nodes talk over topics", "A topic is a named bus", "Cows can fly"
WRONG = "Nodes talk over 47 topics"  # a number that stands nowhere; FALSE is only said by no passage


def write(text: str, mode: GroundingMode = "strict", *, cut: bool = False, **manner: str) -> AnswerWriter:
    writer = AnswerWriter(BOOK, AnswerOptions(REFUSAL, footer="none", mode=mode, question="What are nodes?", **manner))  # type: ignore[arg-type]  # fields of one type
    shown = writer.feed(text) + writer.close(cut=cut)
    assert "".join(shown) == writer.shown.content
    return writer


def shown(text: str, mode: GroundingMode = "strict") -> str:
    return write(text, mode).shown.plain
