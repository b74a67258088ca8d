"""A Docusaurus site: its pages, addresses, anchors and syntax."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.books_on_disk import addresses


@pytest.mark.parametrize(
    ("path", "front_matter", "expected"),
    [
        ("03-ros2-fundamentals/index.md", "", "/ros2-fundamentals"),
        ("03-ros2/README.mdx", "", "/ros2"),
        ("guides/Guides.md", "", "/guides"),
        ("01-a/02-b/3. c.md", "", "/a/b/c"),
        ("module-1-ros2/week-3-lesson-1.md", "", "/module-1-ros2/week-3-lesson-1"),
        ("2021-11-news.md", "", "/2021-11-news"),
        ("7.0-changes.md", "", "/7.0-changes"),
        ("a/b.md", "slug: /top", "/top"),
        ("01-a/b.md", "slug: other", "/a/other"),
        ("01-a/index.md", "slug: ./other", "/a/other"),
        ("a/b/c.md", "slug: ../d", "/a/d"),
        ("a/b.md", "id: ident", "/a/ident"),
        ("index.md", "", ""),
        ("a b/c.md", "", "/a%20b/c"),
    ],
)
def test_addresses(path: str, front_matter: str, expected: str, tmp_path: Path) -> None:
    text = f"---\n{front_matter}\n---\nText."
    assert addresses(tmp_path / "docs", {path: text}, generator="docusaurus") == {path: expected}
