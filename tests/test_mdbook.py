"""Books of mdBook: parts of the table of contents, and the syntax of its preprocessors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.books_on_disk import pages

PARTS = """# Summary

[Preface](preface.md)

# The `first` part

- [A](a.md)
    - [B](b.md)

# Second part

- [C](c.md)

---

[Authors](authors.md)
"""


def test_the_parts_of_the_table_of_contents_stand_above_their_chapters(tmp_path: Path) -> None:
    names = ("preface", "a", "b", "c", "authors")
    book = {"book.toml": "", "src/SUMMARY.md": PARTS} | {f"src/{name}.md": f"# {name}" for name in names}
    above = {page.path[4:-3]: page.breadcrumb for page in pages(tmp_path, book).values()}
    assert above == {
        "preface": (),
        "a": ("The first part", "A"),
        "b": ("The first part", "A"),
        "c": ("Second part",),
        "authors": (),
    }


@pytest.mark.parametrize(
    ("config", "body", "expected"),
    [
        ("", "A\n\n{{lint-table}}\n\nB `{{x}}`", "A\n\nB `{{x}}`"),
        ("", "## A `B` { #ab .c d=e }\n\n## C {.c}\n\nD", "## A `B` {#ab}\n\n## C\n\nD"),
        ("", "```admonish tip title=\"A *b*\" id=\"c\"\nD\n\n~~~sh\nf\n~~~\n```", "A *b*:\n\nD\n\n~~~sh\nf\n~~~"),
        ("", "```admonish title=\"A\"\nB\n```\n\n````admonish warning\nC\n````", "A:\n\nB\n\nWarning:\n\nC"),
        ("", "`\\{{#include a.rs}}`", "`{{#include a.rs}}`"),
        ("", "```python,hidelines=!!\n!!a\nb\n  !!c\n```", "```python\nb\n```"),
        ("", "> [!EDITION-2024]\n> New.", "> Edition-2024:\n> New."),
    ],
)  # fmt: skip
def test_what_preprocessors_make_is_text_and_links(config: str, body: str, expected: str, tmp_path: Path) -> None:
    summary = "- [Page](page.md)\n- [Other](other.md)"
    book = {"book.toml": config, "src/SUMMARY.md": summary, "src/page.md": body, "src/other.md": "r[other.one]\n\nO"}
    assert pages(tmp_path, book)["src/page.md"].text == expected
