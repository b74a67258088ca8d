"""One small book in every format gives the same passages, and a file that cannot be read gives one line."""

from __future__ import annotations

import contextlib
import json
import random
import re
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from rag.book import Chunk
from rag.errors import UsageError
from rag.ingest.chunking import chunk
from rag.ingest.formats import file_format, html_files
from rag.ingest.formats.epub_files import epub_texts
from rag.ingest.formats.file_format import LoadedText
from rag.ingest.formats.known_formats import BY_SUFFIX, HTML
from rag.ingest.formats.reader_process import read_apart
from rag.ingest.formats.text_files import notebook_texts
from rag.ingest.loaders import load_source
from tests.small_book import FOLDER, chapters, epub

BASE = "https://robots.example"
Load = Callable[[bytes], list[LoadedText]]


def passages(source: Path, base_url: str | None = None) -> list[Chunk]:
    documents = load_source(source, base_url=base_url).documents
    return [one for document in documents for one in chunk(document, count_tokens=lambda text: len(text.split()) * 2)]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def reason(file: Path) -> str:
    """Why a file cannot be read, while the page beside it can."""
    (file.parent / "good.md").write_text("# Good\n\nSome words.")
    result = load_source(file.parent)
    assert [document.path for document in result.documents] == ["good.md"]
    (failure,) = result.failures
    assert failure.path == file.name
    assert "\n" not in failure.reason
    return failure.reason


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", "<main><h1>A</h1><p>One&#13;two&#13;three four.</p></main>"),
        ("a.md", "# A\n\n<pre>one&#13;two&#13;three four.</pre>"),
        ("a.rst", "A\n=\n\nOne |r| two |r| three four.\n\n.. |r| unicode:: 0x0D\n"),
    ],
)
def test_a_carriage_return_that_a_page_writes_as_a_number_is_a_line_break(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    (found,) = passages(tmp_path / name)
    assert words(found.text)[-4:] == ["One" if name != "a.md" else "one", "two", "three", "four"]


def test_links_of_a_page_are_relative_to_its_base(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<head><base href="https://book.example/v2/"></head>'
        '<main><h1>A</h1><p><a href="b.html">B</a>, <a href="#c">C</a></p></main>'
    )
    (found,) = passages(tmp_path / "a.html")
    assert found.text == "[B](https://book.example/v2/b.html), [C](a.html#c)"


@pytest.mark.parametrize("name", ["book.rst", "book.html", "book.ipynb"])
def test_the_passages_of_every_format_say_what_those_of_markdown_say(name: str) -> None:
    expected = passages(FOLDER / "book.md")
    found = passages(FOLDER / name)
    assert [(c.breadcrumb, words(c.text)) for c in found] == [(c.breadcrumb, words(c.text)) for c in expected]


@pytest.mark.parametrize("name", ["book.rst", "book.html", "book.ipynb"])
def test_code_keeps_its_lines_and_its_language_in_every_format(name: str) -> None:
    (code,) = [c.text for c in passages(FOLDER / name) if "def control" in c.text]
    assert "```python\ndef control(target, measured, gain=0.5):\n    # The larger" in code


def test_an_epub_gives_the_passages_of_its_chapters_in_the_order_of_the_spine(tmp_path: Path) -> None:
    expected = passages(FOLDER / "book.md")
    found = passages(epub(tmp_path / "robots.epub", chapters()))
    assert [words(c.text) for c in found] == [words(c.text) for c in expected]
    assert [c.heading or c.title for c in found] == [
        "The Small Book of Robots",
        "Sensing",
        "Noise",
        "Deciding",
        "Acting",
    ]
    assert found[2].breadcrumb == "The Small Book of Robots > Sensing > Noise"
    assert {c.chapter for c in found[1:3]} == {"Sensing"}
    assert found[2].link == "robots.epub#OEBPS/text/chapter-1.xhtml"
    assert found[2].source_file_path == "robots.epub/OEBPS/text/chapter-1.xhtml"


def test_plain_text_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Notes\n=====\n\nUse <T> and *args, not [a link](b.md).\n")
    (found,) = passages(tmp_path / "notes.txt")
    assert (found.title, found.text) == ("Notes", "Use <T> and *args, not [a link](b.md).")


def test_what_is_around_the_text_of_a_page_is_left_out() -> None:
    text = "\n".join(c.text for c in passages(FOLDER / "book.html"))
    assert not re.search(r"Robot Press|never read|Copy|Next chapter|Search|[¶#]", text.replace("    # The larger", ""))


def test_a_heading_of_a_site_has_the_anchor_of_the_page(tmp_path: Path) -> None:
    html = (FOLDER / "book.html").read_text()
    (tmp_path / "index.html").write_text(html)
    (tmp_path / "guide").mkdir()
    (tmp_path / "guide" / "more.html").write_text(
        '<main><h2>No id</h2><p>See <a href="../#noise">noise</a>.</p></main>'
    )
    found = passages(tmp_path, BASE)
    assert [c.link for c in found] == [
        f"{BASE}/guide/more.html",
        f"{BASE}/",
        f"{BASE}/#sensing",
        f"{BASE}/#noise",
        f"{BASE}/#deciding",
        f"{BASE}/#acting",
    ]
    assert found[0].text == f"See [noise]({BASE}/#noise)."


def test_a_built_site_has_pages_and_neither_sources_nor_lists(tmp_path: Path) -> None:
    page = "<html><head>{}</head><body><main><h1>A</h1><p>Some words.</p></main></body></html>"
    (tmp_path / "index.html").write_text(page.format(""))
    (tmp_path / "old.html").write_text(page.format('<meta http-equiv="refresh" content="0; url=index.html">'))
    (tmp_path / "all.html").write_text(page.format('<meta name="robots" content="noindex">'))
    for name in ("404.html", "search.html", "llms.txt", "index.rst.txt", "style.css"):
        (tmp_path / name).write_text(page.format(""))
    result = load_source(tmp_path)
    assert [document.path for document in result.documents] == ["index.html"]
    assert result.passed_over == {".html": 4, ".txt": 2, ".css": 1}


def test_a_manual_that_no_search_engine_may_list_is_read(tmp_path: Path) -> None:
    page = "<html><head>{}</head><body><main><h1>{}</h1><p>Some words.</p></main></body></html>"
    unlisted = '<meta content="noindex" name="robots">'
    for name in ("split", "budget"):
        (tmp_path / f"{name}.html").write_text(page.format(unlisted, name))
    (tmp_path / "intro.html").write_text(page.format("", "intro"))
    assert [document.path for document in load_source(tmp_path).documents] == [
        "budget.html",
        "intro.html",
        "split.html",
    ]
    (single,) = load_source(tmp_path / "split.html").documents
    assert single.title == "split"


def test_old_notebooks_are_read(tmp_path: Path) -> None:
    cells = [{"cell_type": "heading", "level": 1, "source": ["Old"], "metadata": {}}]
    cells.append(
        {
            "cell_type": "code",
            "input": ["x = 1"],
            "outputs": [],
            "language": "python",
            "metadata": {},
            "collapsed": False,
        }
    )
    notebook = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": ""},
        "worksheets": [{"cells": cells, "metadata": {}}],
    }
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook))
    (found,) = passages(tmp_path / "a.ipynb")
    assert (found.title, found.text) == ("Old", "```\nx = 1\n```")


@pytest.mark.parametrize(
    ("name", "library", "extra"),
    [("a.html", "markdownify", "html"), ("a.epub", "defusedxml", "epub")],
)
def test_without_its_extra_a_format_says_how_to_install_it(
    name: str, library: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_format, "find_spec", lambda wanted: None if wanted == library else find_spec(wanted))
    (tmp_path / name).write_text("<p>Some words.</p>")
    assert f'pip install ".[{extra}]"' in reason(tmp_path / name)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1]", b"not json", b"\xff\xfe", b'{"cells": 3, "nbformat": 4}', b"[" * 100_000]
)
def test_a_broken_notebook_gives_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_bytes(content)
    assert reason(tmp_path / "a.ipynb")


def test_deep_and_binary_html_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "deep.html").write_text("<div>" * 200_000 + "Some words.")
    (tmp_path / "binary.html").write_bytes(b"<p>\0</p>")
    (tmp_path / "good.html").write_text("<p>Good words.</p>")
    result = load_source(tmp_path)
    assert "good.html" in [document.path for document in result.documents]
    assert "binary.html" in [failure.path for failure in result.failures]


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        ({"META-INF/container.xml": b"<a><b></a>"}, "broken"),
        ({"META-INF/container.xml": b"<a/>"}, "broken"),
        ({"META-INF/container.xml": b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}, "entities"),
        ({"OEBPS/text/chapter-1.xhtml": b"<p>" + b"a" * 20_000_000}, "larger"),
        (
            {"META-INF/encryption.xml": b'<e><CipherReference URI="OEBPS/text/chapter-1.xhtml"/></e>'},
            "encrypted",
        ),
    ],
)
def test_a_hostile_epub_gives_one_line(extra: dict[str, bytes], says: str, tmp_path: Path) -> None:
    assert says in reason(epub(tmp_path / "a.epub", chapters(), extra))


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    bombs = {f"text/bomb-{n}.xhtml": "<p>" + " " * 9_000_000 + "</p>" for n in range(12)}
    assert "larger than 100 megabytes when they are unpacked" in reason(epub(tmp_path / "a.epub", bombs))


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x03\x04" + b"\0" * 100, b"no zip"])
def test_a_file_that_is_no_epub_gives_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.epub").write_bytes(content)
    assert reason(tmp_path / "a.epub") == "it is not an EPUB, or it is broken"


@pytest.mark.parametrize(
    ("name", "load"),
    [
        ("book.epub", epub_texts),  # without the process around both, which would take a crash for a broken file
        ("book.html", html_files.page_texts),
        ("book.ipynb", notebook_texts),
    ],
)
def test_a_damaged_file_is_read_or_gives_a_reason(name: str, load: Load, tmp_path: Path) -> None:
    """Bytes are changed at places that a fixed seed chooses; only `ValueError` may be raised."""
    file = epub(tmp_path / name, chapters()) if name == "book.epub" else FOLDER / name
    whole = file.read_bytes()
    chance = random.Random(1)
    for _ in range(300):
        raw = bytearray(whole)
        for _ in range(chance.choice([1, 2, 8])):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        with contextlib.suppress(ValueError):
            load(bytes(raw))


def test_a_damaged_epub_gives_the_reason_of_the_process_that_reads_it(tmp_path: Path) -> None:
    raw = epub(tmp_path / "book.epub", chapters()).read_bytes()[:-40]
    with pytest.raises(ValueError, match="it is not an EPUB, or it is broken"):
        BY_SUFFIX[".epub"].load(raw)


def test_names_in_an_epub_lead_nowhere_outside(tmp_path: Path) -> None:
    (tmp_path / "secret.xhtml").write_text("<p>secret</p>")
    file = epub(
        tmp_path / "a.epub", {**chapters(), "../../secret.xhtml": "<p>inner secret</p>", "/etc/passwd": "<p>x</p>"}
    )
    found = load_source(file)
    assert {document.path for document in found.documents} == {f"a.epub/OEBPS/{name}" for name in chapters()}
    assert not (tmp_path.parent / "secret.xhtml").exists()


def test_a_chapter_that_is_edited_is_the_only_changed_page(tmp_path: Path) -> None:
    before = {d.path: d.sha256 for d in load_source(epub(tmp_path / "a.epub", chapters())).documents}
    edited = {name: body.replace("quiet", "silent") for name, body in chapters().items()}
    after = {d.path: d.sha256 for d in load_source(epub(tmp_path / "a.epub", edited)).documents}
    assert [path for path in before if before[path] != after[path]] == ["a.epub/OEBPS/text/chapter-3.xhtml"]


def test_a_chapter_that_an_epub_lacks_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    file = epub(tmp_path / "a.epub", chapters())
    names = [f"OEBPS/{name}" for name in chapters()]
    with zipfile.ZipFile(file) as whole, zipfile.ZipFile(tmp_path / "b.epub", "w") as part:
        for name in whole.namelist():
            if name != names[0]:
                part.writestr(name, whole.read(name))
    found = load_source(tmp_path / "b.epub")
    assert [document.path for document in found.documents] == [f"b.epub/{name}" for name in names[1:]]
    assert [(one.path, one.reason) for one in found.failures] == [
        (f"b.epub/{names[0]}", "the book lists this chapter, but its file is missing")
    ]


def test_an_empty_epub_as_the_only_source_is_wrong_usage(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.epub", "w"):
        pass
    with pytest.raises(UsageError, match="no readable page"):
        load_source(tmp_path / "a.epub")


def test_a_page_that_takes_too_long_gives_one_line_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hasty(module: str, function: str, raw: bytes, *, seconds: float, alone: bool) -> Any:
        assert seconds == HTML.seconds
        return read_apart(module, function, raw, seconds=0.01 if b"slow" in raw else seconds)

    monkeypatch.setattr(file_format, "read_apart", hasty)
    (tmp_path / "a.html").write_text(f"<main>{'<p>A slow page.</p>' * 20_000}</main>")
    (tmp_path / "b.html").write_text("<main><p>Words of the other page.</p></main>")
    result = load_source(tmp_path)
    assert [(one.path, one.reason) for one in result.failures] == [("a.html", "reading it takes longer than 0 seconds")]
    assert [document.path for document in result.documents] == ["b.html"]


def test_a_page_is_read_in_the_process_for_files_as_it_is_here() -> None:
    raw = b"<title>T</title><main><h2 id=one>One</h2><p>Words <b>in</b> bold.</p><pre>a\n  b</pre></main>"
    here = html_files.page_texts(raw)
    assert HTML.load(raw) == here
    assert here[0].body


def test_many_blanks_do_not_make_a_page_slow(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<main><p>Words" + " " * 450_000 + "go on.</p></main>")
    (document,) = load_source(tmp_path).documents
    assert "Words go on." in document.text
