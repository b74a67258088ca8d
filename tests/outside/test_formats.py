"""Books in each format and of each generator, as their passages and citations show what was read."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests import small_book, small_book_pdf
from tests.command_line import ROOT
from tests.outside.shelf import SITE, Shelf, opened

DATA: Final = ROOT / "tests" / "data"
BOOKS: Final = ROOT.parent / "shared" / "data" / "books"
BOOK: Final = "The Small Book of Robots"
KINDS: Final = {name: name for name in ("md", "html", "rst", "ipynb", "pdf")} | {
    "mdx": "md", "markdown": "md", "htm": "html", "xhtml": "html",
}  # fmt: skip
MARKUP: Final = sorted(KINDS.keys() - {"pdf"})
WITH_ENDING: Final = ("html", "htm", "xhtml", "ipynb")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    with opened(tmp_path_factory.mktemp("formats")) as shelf:
        yield shelf


@pytest.fixture(scope="module")
def formats(shelf: Shelf) -> Shelf:
    """A book whose pages are all the same small book, each named by its ending."""
    files = {f"{name}.{name}": (small_book_pdf.FOLDER / f"book.{kind}").read_bytes() for name, kind in KINDS.items()}
    text = re.sub(rb"(?m)^#+ ", b"", files["md.md"])
    folder = shelf.write(files | {"txt.txt": text, "text.text": text})
    small_book.epub(folder / "epub.epub", small_book.chapters())
    report = shelf.ingest(folder, "--base-url", SITE, "--collection", "formats")
    assert report["failures"] == []
    assert report["documents"]["added"] == 15  # the EPUB has four chapters
    return shelf


@pytest.mark.parametrize("ending", MARKUP)
def test_a_page_is_cut_at_its_headings_and_a_citation_opens_it_there(formats: Shelf, ending: str) -> None:
    url = f"{SITE}/{ending}.{ending}" if ending in WITH_ENDING else f"{SITE}/{ending}"
    cited = formats.cited("robots", "--filter", f"file:{ending}.{ending}", "--collection", "formats")
    parts = {one["chunk_index"]: (one["url"].removeprefix(url).lower(), one["breadcrumb"]) for one in cited}
    assert parts == {
        0: ("", BOOK), 1: ("#sensing", f"{BOOK} > Sensing"), 2: ("#noise", f"{BOOK} > Sensing > Noise"),
        3: ("#deciding", f"{BOOK} > Deciding"), 4: ("#acting", f"{BOOK} > Acting"),
    }  # fmt: skip
    assert {(one["title"], one["source_file_path"]) for one in cited} == {(BOOK, f"{ending}.{ending}")}


CODE: Final = """```
def control(target, measured, gain=0.5):
    # The larger the error, the stronger the answer.
    error = target - measured
    return gain * error
```"""


@pytest.mark.parametrize("ending", [*MARKUP, "txt", "text", "epub", "pdf"])
def test_code_lists_and_tables_keep_their_form(formats: Shelf, ending: str) -> None:
    found = formats.search("robots", "--filter", f"file:{ending}.{ending}", "--collection", "formats")
    text = "\n\n".join(one["text"] for one in found)
    assert re.search(re.escape(CODE).replace("```", "```(python)?", 1), text)
    assert "three steps:\n\n1. It sends a short pulse of light.\n2. It waits for the echo.\n3. It multiplies" in text
    assert "- A hydraulic cylinder is strong and heavy.\n- A pneumatic muscle" in text
    if ending == "pdf":  # a table becomes lines of text
        assert re.search(r"^cylinder 1000 watts per kilogram$", text, re.MULTILINE)
    else:
        assert "| actuator | power per weight |\n| --- | --- |\n| motor | 300 watts per kilogram |\n" in text
    words = " ".join(text.split())
    assert "averaging four measurements halves the standard deviation" in words
    assert not re.search(r"Copy|Robot Press|placeholder|¶", words)
    assert (ending == "pdf") != ("[the robot handbook](https://robots.example/handbook)" in words)


CHAPTER: Final = "epub.epub#OEBPS/text/chapter-"
PARTS: Final = {  # ending: address, titles above and page of each passage
    "txt": [("txt.txt", "Txt", None)],
    "pdf": [
        ("pdf.pdf#page=1", BOOK, 1), ("pdf.pdf#page=1", f"{BOOK} > Sensing", 1),
        ("pdf.pdf#page=1", f"{BOOK} > Sensing > Noise", 1), ("pdf.pdf#page=1", f"{BOOK} > Deciding", 1),
        ("pdf.pdf#page=2", f"{BOOK} > Acting", 2),
    ],
    "epub": [
        (f"{CHAPTER}0.xhtml", BOOK, None), (f"{CHAPTER}1.xhtml", f"{BOOK} > Sensing", None),
        (f"{CHAPTER}1.xhtml", f"{BOOK} > Sensing > Noise", None),
        (f"{CHAPTER}2.xhtml", f"{BOOK} > Chapter 2 > Deciding", None), (f"{CHAPTER}3.xhtml", f"{BOOK} > Acting", None),
    ],
}  # fmt: skip


@pytest.mark.parametrize("ending", PARTS)
def test_texts_pdfs_and_epubs_are_cited_by_file_page_and_chapter(formats: Shelf, ending: str) -> None:
    cited = formats.cited("robots", "--filter", f"file:{ending}.{ending}", "--collection", "formats")
    cited.sort(key=lambda one: (one["source_file_path"], one["chunk_index"]))
    seen = [(one["url"].removeprefix(f"{SITE}/"), one["breadcrumb"], one["page_number"]) for one in cited]
    assert seen == PARTS[ending]


OUTPUT: Final = {"output_type": "stream", "name": "stdout", "text": "outcell"}
CELLS: Final = (
    {"cell_type": "markdown", "metadata": {}, "source": ["# A\n", "\n", "Words."]},
    {"cell_type": "raw", "metadata": {}, "source": "rawcell"},
    {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": "f(1)", "outputs": [OUTPUT]},
)
PYTHON: Final = {"language_info": {"name": "python"}}
NOTEBOOK: Final = {"nbformat": 4, "nbformat_minor": 4, "metadata": PYTHON, "cells": CELLS}
LATIN: Final = '<meta charset="iso-8859-1"><main><h1>A</h1><p>“Größe”</p></main>'.encode("cp1252")
RST: Final = "A\n=\n\nUse :code:`go`.\n\n.. note:: Mind the gap.\n\n.. code-block:: sh\n\n   ls -l\n"
SCRIPT: Final = "<nav>Menu</nav><main><h1>A</h1><p>Text.</p><script>x()</script></main><footer>Foot</footer>"
READ: Final[dict[str, tuple[str, str | bytes, list[str], str]]] = {  # file, content, what it shows, and not
    "front matter": ("a.md", "---\ntitle: Egret\ndescription: White birds.\n---\n\nFish.", ["White birds."], "---"),
    "comments": ("a.md", "# A\n\nShown <!-- hidden words --> here.", ["Shown", "here."], "hidden"),
    "images": ("a.md", "# A\n\n![A heron](h.png)\n\nA ![small](s.png) one.", ["Image: A heron", "A small one."], "png"),
    "data": ("a.md", "# A\n\n![A heron](data:image/png;base64,AAAA)\n", ["A heron"], "AAAA"),
    "footnotes": ("a.md", "# A\n\nHerons[^1] stand.\n\n[^1]: Grey ones.", ["Grey ones."], r"\[\^1\]"),
    "references": ("a.md", "# A\n\nSee [b][1].\n\n[1]: https://b.example/", ["[b](https://b.example/)"], r"\[1\]"),
    "mdx": ("a.mdx", "import X from './x'\n\n# A\n\n<X size={3}>Inner words.</X>", ["Inner words."], "import|<X|size"),
    "escapes": ("a.html", "<main><h1>A</h1><p>2 *stars* &lt;b&gt;</p></main>", [r"2 \*stars\*"], "&lt;"),
    "furniture": ("a.html", SCRIPT, ["Text."], "Menu|Foot|x\\("),
    "terms": ("a.html", "<main><h1>A</h1><dl><dt>heron</dt><dd>a bird</dd></dl></main>", ["**heron**", "a bird"], "<d"),
    "utf-16": ("a.txt", "Größe".encode("utf-16"), ["Größe"], "\x00"),
    "notebook": ("a.ipynb", json.dumps(NOTEBOOK), ["Words.", "```python\nf(1)\n```"], "rawcell|outcell"),
    "rst": ("a.rst", RST, ["`go`", "Mind the gap.", "```sh\nls -l\n```"], r"\.\. |::"),
    "hidden marks": ("a.md", "# A\n\nplain\u200bly r\u202eead", ["plainly read"], "[\u200b\u202e]"),
    "one form": ("a.md", "# A\n\ncafe\u0301 &amp; co\u00adoperate", ["café & cooperate"], "&amp;|\u00ad"),
    "windows-1252": ("a.html", LATIN, ["“Größe”"], "\x93"),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_a_page_becomes_the_text_that_a_reader_sees(shelf: Shelf, case: str) -> None:
    name, content, shown, hidden = READ[case]
    book = ["--collection", f"read-{case.replace(' ', '-')}"]
    shelf.ingest(shelf.write({name: content}), *book)
    text = "\n\n".join(one["text"] for one in shelf.search("words", *book))
    assert [part for part in shown if part not in text] == []
    assert not re.search(hidden, text), text


HEAD: Final = "| row | heron |\n| --- | --- |"


def check_passage(text: str) -> None:
    """What holds of every passage of every book."""
    lines = text.strip().split("\n")
    assert text.strip()
    assert sum(bool(re.match(r"\s*(```|~~~)", line)) for line in lines) % 2 == 0, text
    assert not re.search(r":[*_]*$", lines[-1]), text
    assert len(re.findall(r"\w+|[^\w\s]+", text)) <= 512, text  # fewer than the tokens of any model
    prose = re.sub(r"(?ms)^\s*(```|~~~).*?^\s*(```|~~~)\s*$", "", text).split("\n")
    for above, line in zip(["", *prose], prose, strict=False):
        if re.match(r"\s*\|.*\|$", line) and not above.lstrip().startswith("|"):
            assert re.search(re.escape(line) + r"\n\s*\|[-:| ]+\|\n\s*\|", text), text


def test_long_code_and_tables_are_cut_between_lines_with_their_heads(shelf: Shelf) -> None:
    code = [f"step_{n:03} = measure({n}, gain=0.5)  # line {n}" for n in range(160)]
    rows = [f"| row {n:03} | the heron number {n} stands in the water |" for n in range(160)]
    page = ["# Long\n\nRun this program:\n\n```python", *code, "```\n\n## Table\n\nCount them:\n", HEAD, *rows, ""]
    shelf.ingest(shelf.write({"long.md": "\n".join(page)}), "--collection", "long")
    found = shelf.search("program step measure", "--collection", "long")
    found += shelf.search("row heron stands", "--collection", "long")
    texts = [text for _, text in sorted({(one["chunk_index"], one["text"]) for one in found})]
    lines = [line for text in texts for line in text.split("\n")]
    for text in texts:
        check_passage(text)
    assert [line for line in lines if line.startswith("step_")] == code
    assert [line for line in lines if line.startswith("| row 0") or line.startswith("| row 1")] == rows
    assert texts[0].startswith("Run this program:\n\n```python\nstep_000")
    assert lines.count("```python") == sum("step_" in text for text in texts) > 1
    assert lines.count("| row | heron |") == sum("the heron number" in text for text in texts) > 1
    assert f"Count them:\n\n{HEAD}" in "\n".join(texts)


def test_a_lead_in_goes_with_what_it_introduces(shelf: Shelf) -> None:
    words = " ".join(f"word{n}" for n in range(60))
    parts = [f"Paragraph {n} has {words}.\n\nThe list {n} names:\n\n- first {n}\n- second {n}" for n in range(12)]
    shelf.ingest(shelf.write({"a.md": "# A\n\n" + "\n\n".join(parts)}), "--collection", "leads")
    texts = [one["text"] for one in shelf.search("paragraph list", "--collection", "leads")]
    assert len(texts) > 2
    for text in texts:
        check_passage(text)
    assert all(any(f"The list {n} names:\n\n- first {n}\n- second {n}" in text for text in texts) for n in range(12))


def _site(shelf: Shelf, generator: str) -> Path:
    """A copy of the sample site, with other words in each section, so that no passage looks like another."""
    folder = shutil.copytree(DATA / "sites" / generator, shelf.folder / generator)
    number = iter(range(1000))
    for page in sorted(path for path in folder.rglob("*.*") if path.suffix in (".md", ".rst")):
        text = re.sub(r"(?m)^Text\.$", lambda _: f"Stone {next(number)} lies in the river.", page.read_text("utf-8"))
        if page.name != "SUMMARY.md":
            page.write_text(f"{text}\n\nThe page {page.stem} has a river.\n", "utf-8")
    return folder


@pytest.mark.parametrize("generator", ["docusaurus", "mkdocs", "mdbook", "hugo"])
def test_pages_and_headings_have_the_addresses_of_the_built_site(shelf: Shelf, generator: str) -> None:
    folder, book = _site(shelf, generator), ["--collection", generator]
    report = shelf.ingest(folder, "--base-url", SITE, *book)
    assert report["failures"] == []
    # What the generator itself built:
    built = json.loads((folder / "expected.json").read_text("utf-8"))["pages"]
    urls = shelf.pages("page river", *book)
    assert {re.sub(r"(index)?\.html$|/$", "", url.removeprefix(f"{SITE}/")).rstrip("/") for url in urls} == set(built)
    (key,) = (key for key in built if key.endswith("headings"))
    (url,) = (url for url in urls if "headings" in url)
    anchors = {one.partition("#")[2] for one in shelf.anchors("stone", "--filter", url, *book)}
    assert anchors - {"", "what-is-new"} == set(built[key]) - {None, "what-is-new", "in-a-quote"}


PLAIN: Final = [("sphinx", {"", "headings", "deep/page"}), ("jekyll", {"headings", "guide/Plain_Page"})]


@pytest.mark.parametrize(("generator", "paths"), PLAIN)
def test_sources_of_other_generators_are_plain_pages_and_named(shelf: Shelf, generator: str, paths: set[str]) -> None:
    done = shelf("ingest", _site(shelf, generator), "--base-url", SITE, "--collection", generator)
    assert done.code == 0
    assert re.search(r"(?i)built|site's address", done.err + done.out)
    urls = shelf.pages("river", "--collection", generator)
    assert paths <= {url.removeprefix(SITE).strip("/") for url in urls}


DOCS: Final = "{docs: {path: 'docs', routeBasePath: '/'}}"
DOCUSAURUS: Final = f"module.exports = {{title: 'B', url: '{SITE}', baseUrl: '/', presets: [['classic', {DOCS}]]}};\n"
AI: Final = "Chapter 1: Introduction to Physical AI"
# name: the configuration file, a page, its address and title, and one of its sections: anchor and titles above
REAL: Final = {
    "physical-ai": ("docusaurus.config.js", "docs/01-introduction/index.md", "introduction/", AI,
                    "key-characteristics", f"{AI} > What is Physical AI? > Key Characteristics"),
    "react-native": ("docusaurus.config.js", "docs/switch.md", "switch", "Switch",
                     "ios_backgroundcolor-ios", "Switch > Reference > Props > ios_backgroundColor iOS"),
    "redux": ("docusaurus.config.ts", "docs/api/createStore.md", "api/createstore", "createStore",
              "tips", "API Reference > createStore > createStore(reducer, preloadedState?, enhancer?) > Tips"),
    "uv": ("mkdocs.yml", "docs/guides/scripts.md", "guides/scripts/", "Running scripts",
           "locking-dependencies", "Guides > Running scripts > Locking dependencies"),
    "rust": ("book.toml", "src/ch01-01-installation.md", "ch01-01-installation.html", "Installation",
             "troubleshooting", "Getting Started > Installation > Troubleshooting"),
    "requests": ("", "docs/user/authentication.rst", "user/authentication", "Authentication",
                 "netrc-authentication", "User > Authentication > Basic Authentication > netrc Authentication"),
}  # fmt: skip


@pytest.fixture(scope="module")
def real(shelf: Shelf) -> Shelf:
    """One page of each of the six books, each book with its configuration."""
    if not BOOKS.is_dir():
        pytest.skip(f"the books of {BOOKS.parent} are not on this machine")
    for name, (config, page, *_) in REAL.items():
        folder = shutil.copytree(BOOKS / name, shelf.folder / name)
        if name in ("physical-ai", "react-native"):
            (folder / config).write_text(DOCUSAURUS, encoding="utf-8")
        elif name == "redux":  # the configuration stands in `website`, beside the pages
            text = (folder / "website" / config).read_text("utf-8").replace("'../docs'", "'docs'")
            (folder / config).write_text(text, encoding="utf-8")
            shutil.move(folder / "website" / "sidebars.js", folder)
        elif name == "rust":
            (folder / config).write_text('[book]\ntitle = "Rust"\n', encoding="utf-8")
        root, _, inside = page.partition("/")
        shelf.ingest(folder / root, "--include", inside, "--base-url", SITE, "--collection", name)
    return shelf


@pytest.mark.parametrize("name", REAL)
def test_citations_of_a_real_book_open_the_sections_of_its_site(real: Shelf, name: str) -> None:
    _, page, path, title, anchor, breadcrumb = REAL[name]
    cited = real.cited("the", "--collection", name)
    assert {one["url"].partition("#")[0] for one in cited} == {f"{SITE}/{path}"}
    assert {(one["title"], one["source_file_path"]) for one in cited} == {(title, page.partition("/")[2])}
    assert [one["breadcrumb"] for one in cited if one["url"] == f"{SITE}/{path}#{anchor}"] == [breadcrumb]
    for one in cited:  # each anchor is that of the passage's heading
        heading, _, number = one["url"].partition("#")[2].rpartition("-")
        heading += "" if number.isdigit() and not one["heading"].endswith(number) else f"-{number}"
        if "#" in one["url"]:
            assert re.sub(r"\W", "", heading) == re.sub(r"\W", "", one["heading"].lower())


@pytest.mark.parametrize("name", REAL)
def test_passages_of_a_real_book_are_whole(real: Shelf, name: str) -> None:
    found = real.search("the", "--collection", name) + real.search("example code", "--collection", name)
    assert len({one["chunk_index"] for one in found}) >= 7
    for one in found:
        check_passage(one["text"])
        prose = re.sub(r"(?s)```.*?```", "", one["text"])
        assert not re.search(r"(?m)<!--|:::|^(import|export) .* from |\{\{#|^!!! |^\.\. ", prose)
