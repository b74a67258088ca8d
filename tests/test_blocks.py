"""The blocks of an answer, whatever the pieces it arrives in, and how a terminal shows them."""

from __future__ import annotations

import io
import re

import pytest

from cli.blocks import AnswerBlock, BlockReader
from cli.markdown import GLUE, rendered
from cli.sources import print_compact
from cli.terminal import console
from rag.types import Citation

ANSWER = """Run it: [7]

```bash
run --all

stop
```
[7]

| key | sets |
| --- | --- |
| `a` | the first |

[1]

| `/help` | lists |

[3]
| `/why` | explains |

[3]

- one
- two

[2]

The end. [?]"""
BLOCKS = [
    ("Run it: [7]", ""),
    ("```bash\nrun --all\n\nstop\n```", "[7]"),
    ("| key | sets |\n| --- | --- |\n| `a` | the first |", "[1]"),
    ("| `/help` | lists | [3] |\n| `/why` | explains | [3] |", ""),
    ("- one\n- two [2]", ""),
    ("The end. [?]", ""),
]


def read(answer: str, size: int) -> list[tuple[str, str]]:
    reader = BlockReader()
    found = [one for place in range(0, len(answer), size) for one in reader.feed(answer[place : place + size])]
    return [(one.text, one.markers) for one in [*found, *reader.close()]]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_an_answer_has_the_same_blocks_whatever_its_pieces(size: int) -> None:
    assert read(ANSWER, size) == BLOCKS


def test_the_unfinished_blocks_can_be_looked_at_without_being_finished() -> None:
    reader = BlockReader()
    assert reader.feed("Run it:\n\n```\nru") == [AnswerBlock("Run it:")]
    assert [one.text for one in reader.open()] == ["```\nru"]
    assert reader.feed("n\n```\n[1]") == []
    assert [(one.text, one.markers) for one in reader.open()] == [("```\nrun\n```", "[1]")]
    assert [(one.text, one.markers) for one in reader.close()] == [("```\nrun\n```", "[1]")]


def drawn(text: str, *, width: int = 60, links: dict[int, str] | None = None, colour: bool = False) -> str:
    file = io.StringIO()
    screen = console(file=file, width=width, force_terminal=colour, color_system="standard" if colour else None)
    blocks = BlockReader()
    for block in [*blocks.feed(text), *blocks.close()]:
        screen.print(rendered(block, links, width))
    return "\n".join(line.rstrip() for line in file.getvalue().split("\n")).rstrip("\n")


def test_a_marker_behind_a_block_never_stands_alone_between_empty_lines() -> None:
    shown = drawn(ANSWER)
    assert shown.count("\n\n") == 1, "the one inside the code"
    assert "  stop\n  [7]" in shown
    assert " • two [2]" in shown
    assert " • /help · lists [3]" in shown


def test_a_table_that_is_too_wide_for_the_terminal_becomes_a_list() -> None:
    table = "| variable | sets |\n| --- | --- |\n| `ASKBOOK_EMBEDDING_MODEL` | the-model-that-embeds-books |"
    assert "ASKBOOK_EMBEDDING_MODEL" in drawn(table, width=80).split("\n")[2]
    narrow = drawn(table, width=40).split("\n")
    assert narrow[0] == " • ASKBOOK_EMBEDDING_MODEL ·"
    assert narrow[1].strip() == "the-model-that-embeds-books"


@pytest.mark.parametrize("links", [None, {1: "https://book.example/widgets"}])
@pytest.mark.parametrize(
    "text",
    [
        "Every widget has exactly four teeth [1]. It turns once a minute. [?]",
        "Every widget has\n[1]\n[2] exactly **four** [1], `five` [2] or [six](https://book.example/t) [3] teeth.",
        "- Every widget has exactly four teeth [1] [2]\n  - And every gadget has twelve of them [3]",
        "> Every widget has exactly four teeth [1]",
        "| widget | teeth |\n| --- | --- |\n| Every widget in the world | exactly four [1] |",
        "歯車には歯が四つあります 歯車 [1] כל גלגל שיניים [2]",
    ],
)
def test_no_line_begins_with_a_citation(text: str, links: dict[int, str] | None) -> None:
    """At any width at which the words themselves are whole."""
    for width in range(40, 100):
        shown = drawn(text, width=width, links=links)
        assert not [line for line in shown.split("\n") if re.match(r"[ •▌]*\[[\d?]", line)], shown
        assert GLUE not in shown


def test_a_word_that_fills_the_line_is_not_broken_for_its_citation() -> None:
    assert drawn(f"{'w' * 38} [1]", width=40) == f"{'w' * 38}\n[1]"
    link = f"(https://book.example/{'w' * 15})"
    assert drawn(f"[The teeth of a widget]{link} [1]", width=40).split("\n") == ["The teeth of a widget", link, "[1]"]


def test_a_citation_opens_its_page_where_the_terminal_can() -> None:
    linked = drawn("A widget turns. [1]", links={1: "https://book.example/widgets#teeth"}, colour=True)
    assert ";https://book.example/widgets#teeth\x1b\\" in linked
    assert "\x1b]8" not in drawn("A widget turns. [1]", links={1: "widgets.md"}, colour=True)


def test_a_link_of_the_book_keeps_its_address() -> None:
    assert drawn("See [teeth](https://book.example/t).") == "See teeth (https://book.example/t)."
    assert ";https://book.example/t\x1b\\" in drawn("See [teeth](https://book.example/t).", links={}, colour=True)


def test_brackets_in_code_are_no_citations() -> None:
    assert "\x1b[2m" not in drawn("Take `items[1]`.", links={}, colour=True)
    assert "\x1b[2m[?]" in drawn("A widget sings. [?]", links={}, colour=True)


def source(marker: int, title: str, url: str) -> Citation:
    return Citation(
        marker=marker, title=title, heading="", breadcrumb="", chapter=None, page_number=None, url=url,
        source_file_path=url, chunk_id="c", chunk_index=0, score=0.5, confidence_score=0.5, quote="q", start=0, end=1,
        text_preview="q", chunk_sha256="s", formatted=f"[{marker}]",
    )  # fmt: skip


def compact(width: int, *sources: Citation) -> list[str]:
    file = io.StringIO()
    print_compact(console(file=file, width=width), sources, "list")
    return file.getvalue().splitlines()


def test_a_source_is_one_line_with_its_address_whole() -> None:
    url = "https://book.example/widgets"
    assert compact(60, source(1, "Widgets", url)) == [f"[1] Widgets  {url}"]
    assert compact(60, source(1, "Widgets and their many teeth", url)) == [f"[1] Widgets and their many…  {url}"]
    assert compact(30, source(1, "Widgets and their many teeth", url)) == ["[1] Widgets and their many…", f"    {url}"]


def test_many_sources_are_counted_instead_of_listed() -> None:
    lines = compact(60, *(source(n, f"Part {n}", "w.md") for n in range(1, 10)))
    assert lines[-2:] == ["[5] Part 5  w.md", "4 more: /sources"]
