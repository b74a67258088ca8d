"""HTML, links and footnotes of a page become plain Markdown."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.ingest.page import parsed, walk
from tests.books_on_disk import BASE, pages


def page(folder: Path, body: str, generator: str = "plain") -> str:
    return pages(folder, {"page.md": body, "SUMMARY.md": "- [P](page.md)"}, generator=generator)["page.md"].text


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<dl>\n\n<dt><a href='#x'></a><code>--base</code> <em>base</em></dt>\n<dd>A base.</p>\n<p>New</dd>\n\n</dl>",
         "`--base` base\nA base.\nNew"),
        ("<code>a &lt; b</code> and <code>x [l](a.md)</code>", f"`a < b` and x [l]({BASE}/a)"),
        ("**<sup>Lexer:<sup>**", "**Lexer:**"),
        ("10<sup>6</sup>, 10<sup>-3</sup>, *x*<sup>n</sup>, `a`<sup>2</sup>", "10^6, 10^-3, *x*^n, `a`^2"),
        ("<code>2<sup>32</sup></code>, the 1<sup>st</sup>, n<sup>o</sup>", "`2^32`, the 1st, no"),
        ("Vec<T>, cd <path> and <b> stay", "Vec<T>, cd <path> and <b> stay"),
        ("A<b>b</b> <i>c</i>", "Ab c"),
    ],
)  # fmt: skip
def test_tags_leave_only_what_a_reader_sees(body: str, expected: str, tmp_path: Path) -> None:
    assert page(tmp_path, body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("[x][d]\n\n[d]:             https://a.org          '\"crate\" (glossary)'", "[x](https://a.org)"),
        ("> [x][1]\n>\n> [1]: https://a.org\n> \n> B", "> [x](https://a.org)\n>\n> \n> B"),
        ("- a [x][1]\n\n    - b\n\n      [1]: https://a.org", "- a [x](https://a.org)\n\n    - b"),
        ("[x][s]\n\n[s]: https://a.org?q=Vec<T>+(fn+(T)+->+b)", "[x](https://a.org?q=Vec%3CT%3E+%28fn+%28T%29+-%3E+b%29)"),
        ('![A dog](a.png "The \\"dog\\"")', "Image: A dog"),
        ("> A[^n].\n>\n> [^n]: The note\n> goes on.\n\nB", "> A (The note goes on.).\n>\n\nB"),
    ],
)  # fmt: skip
def test_links_and_notes_are_found_wherever_they_are_defined(body: str, expected: str, tmp_path: Path) -> None:
    assert page(tmp_path, body) == expected


@pytest.mark.parametrize(
    ("generator", "anchor"), [("mdbook", "two--spaces"), ("plain", "two--spaces"), ("mkdocs", "two-spaces")]
)
def test_each_space_of_a_heading_counts_where_the_generator_counts_it(
    generator: str, anchor: str, tmp_path: Path
) -> None:
    book = {"page.md": "## Two  spaces", "SUMMARY.md": "- [P](page.md)"}
    found = pages(tmp_path, book, generator=generator)["page.md"]
    assert [block.anchor for block in walk(parsed(found).blocks) if block.anchor] == [anchor]
