"""A folder or a file becomes pages with titles, addresses and breadcrumbs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rag.book import Document
from rag.errors import UsageError
from rag.ingest.chunking import chunk
from rag.ingest.loaders import load_source
from rag.ingest.page import MarkdownText
from rag.ingest.sites.site_rules import PageFile
from rag.ingest.sites.site_rules import Site as Generator

Write = Callable[[dict[str, str | bytes]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def _write(files: dict[str, str | bytes]) -> Path:
        for name, content in files.items():
            file = tmp_path / "docs" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / "docs"

    return _write


def pages(source: Path, base_url: str | None = None) -> dict[str, Document]:
    return {document.path: document for document in load_source(source, base_url=base_url).documents}


@pytest.mark.parametrize(
    ("files", "name", "says"),
    [
        ({"a.md": "A"}, "missing", "There is no"),
        ({"a.md": "A", "a.xlsx": "A"}, "a.xlsx", "a kind that askbook does not read"),
        ({"a.xlsx": "A"}, ".", "contains no readable page"),
        ({"_a.md": "A"}, ".", "contains no readable page"),
        ({"mkdocs.yml": "exclude_docs: a.md", "docs/a.md": "A"}, ".", r"page by the rules of mkdocs .mkdocs.yml"),
        ({"a.md": b"\xff\xff"}, ".", "not UTF-8"),
    ],
)
def test_a_source_without_a_page_is_wrong_usage(
    write: Write, files: dict[str, str | bytes], name: str, says: str
) -> None:
    source = write(files)
    with pytest.raises(UsageError, match=says) as caught:
        load_source(source / name)
    assert "\n" not in caught.value.message
    assert ("--generator" in caught.value.hint) == ("by the rules of" in says)


@pytest.mark.parametrize("name", ["a.xlsx", "."])
def test_a_source_of_another_kind_is_told_which_program_converts_it(write: Write, name: str) -> None:
    source = write({"a.xlsx": "A", "b.adoc": "B"})
    with pytest.raises(UsageError) as caught:
        load_source(source / name)
    assert "pandoc" in caught.value.hint
    assert "asciidoctor" in caught.value.hint


def test_a_page_on_which_askbook_has_a_bug_is_reported_and_the_others_go_on(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write({"a.md": "A", "b.md": "B", "c.md": "C"})
    convert, publishes = Generator.convert, Generator.is_published

    def with_bug(rules: Generator, page: PageFile) -> MarkdownText:
        return convert(rules, page) if page.path != "a.md" else [][0]

    def with_another(rules: Generator, page: PageFile) -> bool:
        return publishes(rules, page) if page.path != "b.md" else bool([][0])

    monkeypatch.setattr(Generator, "convert", with_bug)
    monkeypatch.setattr(Generator, "is_published", with_another)
    result = load_source(source)
    assert [d.path for d in result.documents] == ["c.md"]
    assert {f.path: f.reason for f in result.failures} == {
        "a.md": "askbook failed at it (IndexError); please report it with the file",
        "b.md": "askbook failed at it (IndexError); please report it with the file",
    }


def test_the_title_is_the_front_matters_then_the_first_heading_then_the_name(write: Write) -> None:
    source = write(
        {
            "a.md": "---\ntitle: 2024\n---\n# Heading",
            "b.md": "Text\n\n# The `real` *heading* {#x}\n\n# Other",
            "03-get_started.md": "## Second level",
            "04-guide/index.md": "Text",
        }
    )
    assert {p: d.title for p, d in pages(source).items()} == {
        "a.md": "2024",
        "b.md": "The real heading",
        "03-get_started.md": "Get started",
        "04-guide/index.md": "Guide",
    }


@pytest.mark.parametrize("head", ["title: 'A\nx: [", "title: A\n\tx: y: z", "title: A\nx: !!python/object:os.system z"])
def test_broken_front_matter_does_not_lose_the_page(write: Write, head: str) -> None:
    page = pages(write({"a.md": f"---\n{head}\n---\nText."}))["a.md"]
    assert (page.title, page.text) == ("A", "Text.")


def test_text_between_two_rules_is_not_front_matter(write: Write) -> None:
    assert "Not yaml" in pages(write({"a.md": "---\nNot yaml\n---\nText."}))["a.md"].text


def test_the_hash_follows_bytes_title_url_and_included_text(write: Write) -> None:
    def digest(base_url: str | None = None) -> str:
        return pages(source, base_url)["g/a.mdx"].sha256

    source = write({"g/a.mdx": "import P from './_p.md'\n\n<P />", "g/_p.md": "one"})
    seen = [digest(), digest("https://x.org")]
    write({"g/_p.md": "two"})
    seen.append(digest())
    write({"g/a.mdx": "import P from './_p.md'\n\n<P />{/* c */}"})
    seen.append(digest())
    assert len(set(seen)) == 4
    assert digest() == seen[-1]


def test_a_volume_of_kubernetes_is_read_through_its_links(tmp_path: Path) -> None:
    hidden = tmp_path / "docs" / "..2025_01_31_10_20_30.1"
    hidden.mkdir(parents=True)
    (hidden / "a.md").write_text("# A\n\nWords.")
    (tmp_path / "docs" / "..data").symlink_to(hidden.name)
    (tmp_path / "docs" / "a.md").symlink_to("..data/a.md")
    result = load_source(tmp_path / "docs")
    assert ([page.title for page in result.documents], result.failures) == (["A"], ())


@pytest.mark.parametrize("end", ["---", "..."])
def test_front_matter_ends_in_three_hyphens_or_dots(write: Write, end: str) -> None:
    page = pages(write({"a.md": f"---\ntitle: B\n{end}\nText."}))["a.md"]
    assert (page.title, page.text) == ("B", "Text.")


LINKS = "".join(f"- [Page {n}](https://x.org/{n})\n" for n in range(6))


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("changelog.md", "# 1.0\n\nNew.", "release notes"),
        ("release-notes/v1.md", "# 1.0\n\nNew.", "release notes"),
        ("a.md", "# See also\n\n" + LINKS, "links"),
        ("history.md", "# The history of pumps\n\nPumps are old.", ""),
        ("b.md", f"# B\n\nThese pages say how a pump is built, repaired and painted.\n\n{LINKS}", ""),
    ],
)
def test_release_notes_and_lists_of_links_are_marked(write: Write, name: str, text: str, kind: str) -> None:
    (page,) = pages(write({name: text})).values()
    assert (page.kind, {one.kind for one in chunk(page, count_tokens=len, max_tokens=400)}) == (kind, {kind})
