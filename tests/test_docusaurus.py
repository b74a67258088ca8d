"""A Docusaurus site: its pages, addresses, anchors and syntax."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.books_on_disk import BASE, addresses, pages


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


def test_links_of_a_partial_are_relative_to_the_partial(tmp_path: Path) -> None:
    files = {
        "docusaurus.config.js": "module.exports = {presets: [['classic', {docs: {routeBasePath: '/'}}]]}",
        "docs/guide/page.mdx": "import Note from '../parts/_note.mdx'\n\nSome words.\n\n<Note />\n",
        "docs/parts/_note.mdx": "See [the start](../start/first.md#x) and [here](#y).\n",
        "docs/start/first.md": "# First\n\nWords.\n",
    }
    assert pages(tmp_path, files)["docs/guide/page.mdx"].text == (
        f"Some words.\n\nSee [the start]({BASE}/start/first#x) and [here]({BASE}/guide/page#y)."
    )


def test_a_file_that_a_link_names_without_dots_is_looked_for_in_the_docs_first(tmp_path: Path) -> None:
    files = {
        "docusaurus.config.js": "module.exports = {presets: [['classic', {docs: {routeBasePath: '/'}}]]}",
        "docs/guide/page.md": "[A](api/Store.md#x) [B](docs/api/Store.md) [C](near.md) [D](../api/Store.md) "
        "[E](./near.md)\n",
        "docs/guide/near.md": "# Near\n\nWords.\n",
        "docs/near.md": "# Far\n\nWords.\n",
        "docs/api/Store.md": "# Store\n\nWords.\n",
    }
    store = f"{BASE}/api/Store"
    assert pages(tmp_path, files)["docs/guide/page.md"].text == (
        f"[A]({store}#x) [B]({store}) [C]({BASE}/near) [D]({store}) [E]({BASE}/guide/near)"
    )
