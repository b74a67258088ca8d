"""Reading a page takes time and memory in proportion to its size, whatever the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.ingest.chunking import chunk
from rag.ingest.formats.text_files import front_matter
from rag.ingest.loaders import load_source
from rag.ingest.tags import strip_tags
from tests.growth import TRIES, is_linear, processor_seconds
from tests.hostile_pages import HOSTILE, generators_for

SIZE = 4_000


def seconds(folder: Path, text: str, generator: str) -> float:
    """Processor time of reading and chunking a page by the rules of a generator."""
    (folder / "page.md").write_text(text, encoding="utf-8")
    (folder / "SUMMARY.md").write_text("- [Page](page.md)", encoding="utf-8")

    def read() -> None:
        for document in load_source(folder, generator=generator).documents:
            chunk(document, count_tokens=lambda words: len(words) // 4 + 1)

    return processor_seconds(read)


@pytest.mark.parametrize(("name", "generator"), [(name, one) for name in HOSTILE for one in generators_for(name)])
def test_twice_the_page_takes_about_twice_the_time(name: str, generator: str, tmp_path: Path) -> None:
    """A quadratic pattern takes four times as long in every try; a busy machine disturbs one of them.

    What takes less than a tenth of a second for the larger page needs no comparison.
    """
    made, enough = HOSTILE[name], 0.075
    for _ in range(TRIES):
        double = seconds(tmp_path, made(2 * SIZE), generator)
        if double < enough or double < 3 * (single := seconds(tmp_path, made(SIZE), generator)) + enough:
            return
    pytest.fail(f"{name}: {single:.2f} s, and {double:.2f} s for twice the page")


def test_many_tags_in_one_line_take_linear_time() -> None:
    """The line was copied for each tag, which doubling a short page hardly shows."""
    assert is_linear(lambda text: strip_tags(text, mdx=False), "<ul><li>" * 40_000)


def levels(folder: Path, uses: int) -> Path:
    """A page of partials that use partials, four levels deep, each `uses` times."""
    for level in range(4):
        below = f"import P from './_{level + 1}.mdx'\n\n" + "<P/>\n\n" * uses
        (folder / f"{'page' if level == 0 else f'_{level}'}.mdx").write_text(below, encoding="utf-8")
    (folder / "_4.mdx").write_text("Some words.", encoding="utf-8")
    return folder


@pytest.mark.parametrize("nested", ["[" * 100_000, "{a: " * 100_000, "\n" + "- " * 100_000, "\n" + "? " * 100_000])
def test_front_matter_that_is_nested_too_deeply_is_read_line_by_line(nested: str) -> None:
    """The parser in C would need more of the stack than there is."""
    fields, text = front_matter(f"---\ntitle: Widgets\na: {nested}\n---\nSome words.")
    assert (fields["title"], text) == ("Widgets", "Some words.")


def test_partials_that_multiply_are_refused_and_the_other_pages_are_read(tmp_path: Path) -> None:
    source = levels(tmp_path, 60)
    (source / "other.mdx").write_text("# Other", encoding="utf-8")
    result = load_source(source)  # would take hours to put together
    assert [document.path for document in result.documents] == ["other.mdx"]
    assert result.failures[0].reason == "the files that it includes add up to more than 2,000,000 characters"
