"""A folder or a file becomes pages with titles, addresses and breadcrumbs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rag.book import Document
from rag.errors import UsageError
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


def test_a_folder_is_read_recursively_in_the_order_of_its_paths(write: Write) -> None:
    source = write({"b.md": "B", "a/z.mdx": "Z", "a/b.markdown": "B", "c.docx": "no", "A.MD": "A"})
    assert list(pages(source)) == ["A.MD", "a/b.markdown", "a/z.mdx", "b.md"]


def test_hidden_folders_node_modules_and_partials_are_no_pages(write: Write) -> None:
    source = write({"a.md": "A", ".git/b.md": "B", "node_modules/c.md": "C", "_d.md": "D", ".e.md": "E"})
    assert list(pages(source)) == ["a.md"]


def test_one_file_is_a_source_of_one_page(write: Write) -> None:
    source = write({"a.md": "# A"}) / "a.md"
    (document,) = load_source(source).documents
    assert (document.source, document.path, document.url) == (source.resolve().as_posix(), "a.md", "a.md")


def test_a_link_to_a_folder_above_does_not_run_in_a_circle(write: Write) -> None:
    source = write({"a.md": "A"})
    (source / "loop").symlink_to(source, target_is_directory=True)
    (source / "b.md").symlink_to(source / "b.md")
    result = load_source(source)
    assert [d.path for d in result.documents] == ["a.md"]
    assert [f.path for f in result.failures] == ["b.md"]


@pytest.mark.parametrize("target", ["../outside/secret.md", "/etc/passwd", ".env", ".git/config.md"])
def test_a_link_out_of_the_folder_or_to_a_hidden_file_is_not_followed(target: str, write: Write) -> None:
    source = write({"a.md": "A", ".env": "KEY=s", ".git/config.md": "s", "../outside/secret.md": "s"})
    (source / "pass.md").symlink_to(target)
    result = load_source(source)
    assert [document.path for document in result.documents] == ["a.md"]
    (failure,) = result.failures
    assert (failure.path, failure.reason) == (
        "pass.md",
        "it is a link to a file outside the folder or to a hidden one; copy the file instead",
    )


def test_a_link_inside_the_folder_is_followed(write: Write) -> None:
    source = write({"a.md": "# A", "deep/b.md": "# B"})
    (source / "c.md").symlink_to("deep/b.md")
    assert pages(source)["c.md"].title == "B"


def test_a_page_cannot_include_a_hidden_file(write: Write) -> None:
    source = write({"a.md": "A {{#include .env}} B", ".env": "OPENAI_API_KEY=canary"})
    assert "canary" not in pages(source)["a.md"].text


@pytest.mark.parametrize(
    ("files", "name", "says"),
    [
        ({"a.md": "A"}, "missing", "There is no"),
        ({"a.md": "A", "a.docx": "A"}, "a.docx", "a kind that askbook does not read"),
        ({"a.docx": "A"}, ".", "contains no readable page"),
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


@pytest.mark.parametrize("name", ["a.docx", "."])
def test_a_source_of_another_kind_is_told_which_program_converts_it(write: Write, name: str) -> None:
    source = write({"a.docx": "A", "b.adoc": "B"})
    with pytest.raises(UsageError) as caught:
        load_source(source / name)
    assert "pandoc" in caught.value.hint
    assert "asciidoctor" in caught.value.hint


def test_a_file_that_is_no_text_fails_with_a_reason_and_the_others_go_on(write: Write) -> None:
    source = write({"a.md": b"caf\xe9", "b.md": b"x\0y", "c.md": "C"})
    result = load_source(source)
    assert [d.path for d in result.documents] == ["c.md"]
    assert [f.file for f in result.failures] == [f"{source.resolve()}/a.md", f"{source.resolve()}/b.md"]
    assert "0xe9 at position 3" in result.failures[0].reason
    assert "NUL" in result.failures[1].reason


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


def test_a_byte_order_mark_and_windows_line_ends_are_tolerated(write: Write) -> None:
    source = write({"a.md": b"\xef\xbb\xbf---\r\ntitle: A\r\n---\r\nx\r\ny\r\n"})
    assert (pages(source)["a.md"].title, pages(source)["a.md"].text) == ("A", "x\ny")


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


def test_an_empty_page_is_a_page_without_text(write: Write) -> None:
    assert pages(write({"a.md": "", "b.md": "B"}))["a.md"].text == ""


def test_files_of_the_repository_beside_the_source_are_included(write: Write, tmp_path: Path) -> None:
    source = write({"a.md": "```rust\n{{#include ../listings/a.rs}}\n```"})
    (tmp_path / "listings").mkdir()
    (tmp_path / "listings" / "a.rs").write_text("fn a() {}")
    assert pages(source)["a.md"].text == ""
    (tmp_path / ".git").mkdir()
    assert "fn a()" in pages(source)["a.md"].text


def test_without_a_base_url_the_url_is_the_path(write: Write) -> None:
    source = write({"03-ros2/index.md": "A", "03-ros2/_category_.json": "{}"})
    assert pages(source)["03-ros2/index.md"].url == "03-ros2/index.md"


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


def test_a_title_of_any_length_is_cut(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# " + "word " * 20_000 + "\n\nText.\n")
    (document,) = load_source(tmp_path).documents
    assert len(document.title) <= 300
    assert document.title.endswith("…")


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
def test_utf_16_with_its_mark_is_read(write: Write, order: str) -> None:
    text = "\ufeff---\r\ntitle: Größe\r\n---\r\nWords 😀.\r\n"
    (page,) = load_source(write({"a.md": text.encode(order)})).documents
    assert (page.title, page.text) == ("Größe", "Words 😀.")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"\xff\xfea\0\0\0", "it is not a text file: it contains NUL characters"),
        (b"\xff\xfe\0\xd8a\0", "it begins as UTF-16 text and is none; save it as UTF-8"),
        (b"\xff\xfea", "it begins as UTF-16 text and is none; save it as UTF-8"),
    ],
)
def test_broken_utf_16_is_one_line(write: Write, raw: bytes, reason: str) -> None:
    (failure,) = load_source(write({"a.md": raw, "b.md": "Words."})).failures
    assert (failure.path, failure.reason) == ("a.md", reason)
