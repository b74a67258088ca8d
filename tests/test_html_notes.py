"""A footnote of a page stands where it is first mentioned."""

from __future__ import annotations

import pytest

from rag.ingest.formats.html_files import page_texts


def body(html: str) -> str:
    return page_texts(f"<main><h1>T</h1>{html}</main>".encode())[0].body.removeprefix("# T {#}\n\n")


NOTES = (
    (  # as Hugo, Pandoc and GitHub write them
        "<p>Bees dance<sup id=r1><a href='#f1'>1</a></sup> daily.<a class=footnote-ref id=r2 href='#f2'>[2]</a> See"
        "<a href='#s'>1</a>.</p><section class=footnotes><h2>Notes</h2><hr><ol><li id=f1><p>Decoded in 1927. "
        "<a class=footnote-back href='#r1'>↩</a></p>"
        "<li id=f2>At <b>230</b> Hz.<a href='#r2'>↩</a></li></ol></section>",
        "Bees dance (Decoded in 1927.) daily. (At 230 Hz.) See[1](#s).",
    ),
    (  # as Sphinx does
        "<p>One <a class='footnote-reference brackets' href='#i3' id=i1>[1]</a> two"
        "<a class=footnote-reference href='#i3'>[1]</a>.</p>"
        "<aside class=footnote id=i3><span>[<a role=doc-backlink href='#i1'>1</a>]</span><p>A note.</p></aside>",
        "One (A note.) two.",
    ),
    (  # as calibre does
        "<p>Bees<a id=r1 href='c1.xhtml#f1'><sup>1</sup></a> hum<sup><a href='notes.xhtml#f2'>2</a></sup>.</p>"
        "<p id=f1><a href='c1.xhtml#r1'>1</a>. 1984 was a year.</p>",
        "Bees (1984 was a year.) hum.",
    ),
    (  # references of an encyclopedia
        "<p>It is so<sup class=reference id=c1><a href='#n1'>[1]</a></sup>.</p>"
        "<ol class=references><li id=n1><a href='#c1'>^</a> Smith.</li></ol>",
        "It is so.\n\n1. Smith.",
    ),
)


@pytest.mark.parametrize(("html", "markdown"), NOTES)
def test_a_note_stands_at_its_first_mark_and_no_mark_is_a_link(html: str, markdown: str) -> None:
    assert body(html) == markdown


def test_a_note_that_is_long_or_holds_code_stays_where_it_is() -> None:
    note = (
        "<p>Bees<sup><a id=r1 href='#f1'>1</a></sup>.</p><section class=footnotes><ol><li id=f1>{}</li></ol></section>"
    )
    assert body(note.format("word " * 100)) == f"Bees.\n\n1. {'word ' * 100}".strip()
    assert body(note.format("See<pre>a = 1</pre>")) == "Bees.\n\n1. See\n\n   ```\n   a = 1\n   ```"


def test_many_notes_take_linear_time() -> None:
    marks = "".join(f"<p>w<sup id=r{n}><a href='#f{n}'>{n}</a></sup></p>" for n in range(3_000))
    notes = "".join(f"<li id=f{n}>note {n} <a href='#r{n}'>b</a></li>" for n in range(3_000))
    assert body(f"{marks}<section class=footnotes><ol>{notes}</ol></section>").endswith("w (note 2999)")
