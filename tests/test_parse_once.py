"""The markup of an answer is parsed once: a line carries its segments from the first look at it to the reader."""

from __future__ import annotations

from collections import Counter

import pytest

from rag.answer import sanitizer
from rag.answer.writer import AnswerOptions, AnswerWriter
from rag.text import markup
from rag.text.markup import Segment
from tests.fakes import passage

TEXT = """A node is a process. A topic carries messages. A service answers a request. An action takes time.

- Nodes run.
- Topics carry messages.
- Services answer.
"""
ANSWER = """## Nodes

A node is a process [1]. A topic carries messages [1]. A service answers a request [1].
An action takes time [1].

The parts are:

- Nodes run [1].
- Topics carry messages [1].
- Services answer [1].
"""


def test_no_text_of_an_answer_is_parsed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = AnswerWriter(
        [passage(text=TEXT)], AnswerOptions(refusal="The book does not say.", question="What is a node?")
    )
    parsed: list[str] = []
    parse = markup.parse

    def counted(text: str) -> list[Segment]:
        parsed.append(text)
        return parse(text)

    for module in (markup, sanitizer):
        monkeypatch.setattr(module, "parse", counted)
    pieces = [writer.feed(ANSWER[start : start + 7]) for start in range(0, len(ANSWER), 7)]
    shown = "".join(piece for found in [*pieces, writer.close()] for piece in found)
    assert shown.startswith(ANSWER.rstrip())
    assert Counter(parsed).most_common(1)[0][1] == 1
    assert len(parsed) == 9  # the heading, four sentences, the lead, three items
