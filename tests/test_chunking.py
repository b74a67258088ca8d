"""Chunks fit, quote the page verbatim, know where they stand and keep their ids."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from rag.book import Chunk, Document
from rag.ingest.chunking import chunk
from rag.types import OMISSION
from tests.fakes import count_words


def page(text: str, **fields: str | tuple[str, ...]) -> Document:
    base = Document("/books/a", "guide/a.md", "guide/a.md", "Robots", text, "sha", ("Guide",))
    return replace(base, **fields)  # type: ignore[arg-type]  # mypy cannot match ** with the fields


def chunks_of(text: str, max_tokens: int = 60, **fields: str | tuple[str, ...]) -> list[Chunk]:
    return chunk(page(text, **fields), count_tokens=count_words, max_tokens=max_tokens)


def sentences(n: int) -> str:
    return " ".join(f"Sentence number {i} says a little." for i in range(n))


def test_a_chunk_is_cut_at_headings_and_knows_its_place() -> None:
    first, second, third = chunks_of("Intro.\n\n# Robots\n\n## Arms\n\nA.\n\n### Hands\n\nH.")
    assert (first.text, first.heading, first.breadcrumb) == ("Intro.", "", "Guide > Robots")
    assert (second.text, second.heading, second.breadcrumb) == ("A.", "Arms", "Guide > Robots > Arms")
    assert third.breadcrumb == "Guide > Robots > Arms > Hands"
    assert [c.chunk_index for c in (first, second, third)] == [0, 1, 2]


def test_equal_neighbours_stand_in_the_breadcrumb_once() -> None:
    (one,) = chunks_of("# ROS2 basics\n\nText.", title="ROS 2 Basics", breadcrumb=("Ros2 Basics",))
    assert (one.breadcrumb, one.heading) == ("ROS 2 Basics", "")


@pytest.mark.parametrize("head", ["# Robots\n\n", ""])
def test_titles_stand_below_that_of_the_page_if_nothing_else_does(head: str) -> None:
    found = chunks_of(f"{head}# Arms\n\nA.\n\n# Legs\n\nL.", breadcrumb=())
    assert [c.breadcrumb for c in found] == ["Robots > Arms", "Robots > Legs"]


def test_a_heading_in_a_list_or_in_code_is_content() -> None:
    (one,) = chunks_of("- # no\n- b\n\n```\n# no\n```\n\n> ## no")
    assert one.heading == ""


def test_the_chapter_is_a_title_that_says_so_else_the_outermost_folder() -> None:
    assert chunks_of("T.", title="Chapter 3: ROS")[0].chapter == "Chapter 3: ROS"
    assert chunks_of("T.")[0].chapter == "Guide"
    assert chunks_of("T.", breadcrumb=())[0].chapter is None
    assert chunks_of("T.", title="Chapters of life", breadcrumb=())[0].chapter is None


def test_anchors_are_github_slugs_numbered_and_only_on_a_site() -> None:
    text = "## What's `new`?\n\nA.\n\n## What's new?\n\nB.\n\n## Ünï & co {#custom}\n\nC.\n\n## x {#}\n\nD."
    found = chunks_of(text, url="https://x.org/a")
    assert [c.anchor for c in found] == ["whats-new", "whats-new-1", "custom", ""]
    assert [c.heading for c in found] == ["What's new?", "What's new?", "Ünï & co", "x"]
    assert {c.anchor for c in chunks_of(text)} == {""}


def test_text_is_a_slice_of_the_page() -> None:
    text = f"{sentences(9)}\n\n- a\n- b\n\n\nlast  line  \nwrapped\n\n> quote"
    found = chunks_of(text)
    assert len(found) > 1
    for one in found:
        assert one.text in text


def test_a_line_that_leads_in_stays_with_the_first_items_of_a_long_list() -> None:
    items = [f"- The item number {i} of the list is here" for i in range(6)]
    found = chunks_of(f"{sentences(7)} These are the {'many ' * 15}parts:\n\n" + "\n".join(items))
    (leading,) = [c.text for c in found if "parts:" in c.text]
    assert leading.startswith("These are the many")
    assert items[0] in leading
    assert [i for i in items if not any(i in c.text for c in found)] == []


@pytest.mark.parametrize("lead", ["Following is the list of parts.", "Robots have the following parts."])
def test_a_sentence_that_announces_a_list_stays_with_it(lead: str) -> None:
    items = "\n".join(f"- The item number {i} of the list is here" for i in range(3))
    *_, last = chunks_of(f"{sentences(5)}\n\n{lead}\n\n{items}")
    assert last.text == f"{lead}\n\n{items}"


@pytest.mark.parametrize(
    "lead", ["Run this:", "`run` takes these:", "> As the manual says, run this:", "- One.\n- Then run this:"]
)
def test_code_that_would_fit_alone_is_cut_so_that_its_lead_in_stays_with_it(lead: str) -> None:
    code = "```py\n" + "\n".join(f"x{i} = {i}" for i in range(13)) + "\n```"
    assert [c.text for c in chunks_of(code, max_tokens=49)] == [code]  # but only just
    found = chunks_of(f"{sentences(6)}\n\n{lead}\n\n{code}", max_tokens=49)
    (leading,) = [c.text for c in found if lead.rpartition("\n")[2] in c.text]
    assert "x0 = 0" in leading
    assert [i for i in range(13) if not any(f"x{i} = {i}\n" in c.text for c in found)] == []


def test_a_fence_that_its_list_closes_is_closed_in_every_part() -> None:
    found = chunks_of("- x\n\n  ```py\n" + "\n".join(f"  value_{i} = compute({i})" for i in range(40)) + "\n\nAfter.")
    code = [c.text for c in found if "value_" in c.text]
    assert len(code) > 1
    assert all(text.count("```") == 2 for text in code)
    assert "value_39" in code[-1]


@pytest.mark.parametrize("sign", ["", "> ", "   "])
def test_where_code_goes_on_in_another_text_a_mark_says_so(sign: str) -> None:
    code = "\n".join(f"{sign}call_number_{n}()" for n in range(40))
    lead = "1. Run it:\n\n" if sign == "   " else ""
    found = [chunk.text for chunk in chunks_of(f"{lead}{sign}```py\n{code}\n{sign}```")]
    first, *_, last = [text for text in found if "call" in text]
    assert f"```py\n{sign}call_number_0()" in first
    assert first.endswith(f"\n{sign}{OMISSION}\n{sign}```")
    sign = sign.lstrip(" ")  # a passage that begins inside a list is moved back
    assert last.strip("> ").startswith(f"```py\n{sign}{OMISSION}\n{sign}call")
    assert last.count(OMISSION) == 1
    whole = chunks_of(f"```py\n{code}\n```", max_tokens=2000)
    assert OMISSION not in whole[0].text


def test_parts_of_code_are_about_equally_long() -> None:
    found = chunks_of("```\n" + "\n".join(f"value_{i} = compute({i})" for i in range(31)) + "\n```")
    lengths = [len(c.text) for c in found]
    assert min(lengths) > max(lengths) * 0.6


ABSURD = {
    "word": "x" * 5000,
    "base64": "".join(random.Random(1).choices("abcXYZ019+/", k=9000)),
    "line of code": "```\n" + "a+b;" * 2000 + "\n```",
    "row": "| a | b |\n|---|---|\n| " + "cell word, " * 900 + "| x |",
    "head": "|" + " head |" * 300 + "\n|" + "---|" * 300 + "\n|" + " y |" * 300,
    "heading": "## " + "very long heading " * 200 + "\n\nText.",
    "headings": "\n\n".join(f"{'#' * n} {'Deep heading ' * 8}" for n in range(2, 7)) + "\n\nText.",
    "nested list": "\n".join("  " * n + f"- level {n} " + "word " * 30 for n in range(30)),
    "quotes": ">" * 60 + " deep " * 300,
    "spaces": "a" + " " * 9000 + "b",
    "no space": "字" * 3000,
    "fence in a list": "- x\n\n  ~~~py\n" + "  y = 1\n" * 200 + "  ~~~",
    "long fence line": "```" + "info " * 400 + "\nx\n```",
    "long fence": "`" * 40 + "\n" + "x y z\n" * 90 + "`" * 40,
    "punctuation": "- " * 3000 + "\n" + "*" * 3000 + "`" * 999,
    "open brackets": "[" * 3000,
}


@pytest.mark.parametrize("kind", ABSURD)
@pytest.mark.parametrize("max_tokens", [32, 250])
def test_no_chunk_is_longer_than_allowed(kind: str, max_tokens: int) -> None:
    found = chunks_of(ABSURD[kind], max_tokens=max_tokens, url="https://x.org/a")
    assert found or kind in ("punctuation", "open brackets")
    for one in found:
        assert count_words(one.embedded_text) <= max_tokens
        assert len(one.text) <= 16 * max_tokens
        assert one.text.strip()


@pytest.mark.parametrize("seed", range(20))
def test_no_word_of_a_page_is_lost_and_nothing_is_too_long(seed: int) -> None:
    rng = random.Random(seed)

    def word() -> str:
        return f"w{rng.randrange(10**6)}"

    def prose() -> str:
        return " ".join(word() + rng.choice(["", "", ",", "."]) for _ in range(rng.randrange(1, 90)))

    blocks: dict[str, Callable[[], str]] = {
        "p": prose,
        "h": lambda: f"{'#' * rng.randrange(2, 5)} {word()}",
        "c": lambda: "```\n" + "\n".join(prose() for _ in range(rng.randrange(1, 9))) + "\n```",
        "l": lambda: "\n".join(f"- {prose()}" for _ in range(rng.randrange(1, 9))),
        "t": lambda: "| a | b |\n|---|---|\n" + "\n".join(f"| {prose()} | {word()} |" for _ in range(5)),
        "q": lambda: f"> {prose()}",
    }
    text = "\n\n".join(blocks[rng.choice("ppphclltq")]() for _ in range(25)) + "\n\nEnd."
    found = chunks_of(text)
    assert all(count_words(c.embedded_text) <= 60 for c in found)
    bodies = re.sub(r"^#+ .*$", "", text, flags=re.MULTILINE)
    assert set(re.findall(r"w\d+", bodies)) <= set(re.findall(r"w\d+", " ".join(c.text for c in found)))


def test_an_edit_elsewhere_in_the_page_changes_no_id() -> None:
    before = chunks_of("## A\n\nOne.\n\n## B\n\nTwo.")
    after = chunks_of("## A\n\n" + sentences(30) + "\n\n## New\n\nX.\n\n## B\n\nTwo.")
    ids = {c.id: c for c in after}
    assert ids[before[1].id].text == "Two."
    assert ids[before[0].id].sha256 != before[0].sha256


def test_sections_with_one_name_have_ids_of_their_own() -> None:
    found = chunks_of("## A\n\nOne.\n\n## A\n\nTwo.\n\n## B\n\n### A\n\nThree.")
    assert len({c.id for c in found}) == 3


def test_ids_follow_the_address_on_a_site_and_the_place_in_the_source_otherwise() -> None:
    here, there = page("T."), page("T.", source="/books/b")
    ids = [chunk(d, count_tokens=count_words)[0].id for d in (here, there)]
    assert ids[0] != ids[1]
    on_site = [replace(d, url="https://x.org/a") for d in (here, there)]
    ids = [chunk(d, count_tokens=count_words)[0].id for d in on_site]
    assert ids[0] == ids[1]


@pytest.mark.parametrize("text", ["", "\n\n", "# Robots", "## A\n\n## B", "---", "```\n```", "## A\n\nmacOS:\n\n### B"])
def test_a_page_without_text_makes_no_chunks(text: str) -> None:
    assert chunks_of(text) == []


def test_a_limit_too_small_to_cut_by_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 32"):
        chunks_of("T.", max_tokens=8)


def test_a_passage_that_begins_inside_a_list_is_no_code() -> None:
    words = "Some words that fill a passage of the book. " * 4
    text = (
        f"1. A\n   - b\n\n     {words}\n\n     - {words}\n\n     ```\n     if x:\n         y\n     ```\n\n2. C\n   - d"
    )
    found = [one.text for one in chunks_of(text, max_tokens=48)]
    assert not any(one.startswith(" ") for one in found)
    assert any("```\nif x:\n    y\n```" in one for one in found)
    assert "2. C\n   - d" in found[-1]
    assert [one.text for one in chunks_of("A:\n\n        x = 1\n")] == ["A:\n\n        x = 1"]
