"""Nothing of a table is lost or moved where a page becomes Markdown."""

from __future__ import annotations

import re

import pytest

from rag.ingest.formats.html_files import page_texts

WORDS = "Memory is taken by the function below, which is declared in the header of the library. " * 5


def body(html: str) -> str:
    return page_texts(f"<main><h1>T</h1>{html}</main>".encode())[0].body.removeprefix("# T {#}\n\n")


TABLES = (
    (
        "<tr><th>Command</th><th>Use</th></tr><tr><td>ls</td><td>Long:<pre>ls -l\n  ls -a|b</pre></td></tr>",
        "| Command | Use |\n| --- | --- |\n| ls | Long: `ls -l` `ls -a\\|b` |",
    ),
    (
        "<tr><th>Plant</th><th>Depth</th></tr><tr><td rowspan=2>Bean|pea</td><td>4</td></tr><tr><td>5</td></tr>"
        "<tr><td>Leek</td><td rowspan='2'>9</td></tr><tr><td>Beet</td></tr>",
        "| Plant | Depth |\n| --- | --- |\n| Bean\\|pea | 4 |\n| Bean\\|pea | 5 |\n| Leek | 9 |\n| Beet | 9 |",
    ),
    (
        "<caption>Depths</caption><colgroup><col></colgroup><thead></thead><tr><td>Leek</td><td>9</td></tr>",
        "Depths\n\n| Leek | 9 |\n| --- | --- |",
    ),
    (
        "<tr><td><h2 id=l>Left</h2><p>One.</p></td><td><table><tr><td>a</td><td>b</td></tr></table></td></tr>",
        "## Left {#l}\n\nOne.\n\n| a | b |\n| --- | --- |",
    ),
    ("<tr><td><pre>a = 1\nb = 2</pre></td></tr>", "```\na = 1\nb = 2\n```"),
)


@pytest.mark.parametrize(("rows", "markdown"), TABLES)
def test_a_table_keeps_all_of_its_cells_and_their_columns(rows: str, markdown: str) -> None:
    assert body(f"<table>{rows}</table>") == markdown


@pytest.mark.parametrize(
    "html",
    [
        "<div class=highlight><table class=highlighttable><tr><td class=linenos><div><pre>1\n2</pre></div>"
        "</td><td class=code><div><pre>a = 1\nb = 2\n</pre></div></td></tr></table></div>",
        "<div class=chroma><table class=lntable><tr><td class=lntd><pre><code><span>1\n</span><span>2"
        "\n</span></code></pre></td><td class=lntd><pre><code>a = 1\nb = 2\n</code></pre></td></tr></table></div>",
        "<pre class=highlight><code><table class=rouge-table><tbody><tr><td class='rouge-gutter gl'><pre>1\n2"
        "\n</pre></td><td class=rouge-code><pre>a = 1\nb = 2\n</pre></td></tr></tbody></table></code></pre>",
    ],
)
def test_code_with_numbers_of_lines_in_a_table_is_code_without_them(html: str) -> None:
    assert body(html) == "```\na = 1\nb = 2\n```"


def test_a_table_of_a_page_that_is_found_by_its_words_keeps_its_cells_too() -> None:
    rows = "<tr><th>Plant<th>Depth<tr><td rowspan=2>Bean<td>4<tr><td><pre>a\nb</pre>"
    text = f"<h1>T</h1><p>{WORDS}</p><table>{rows}</table><p>{WORDS}</p>"
    whole = f"<div><nav><a href='/'>Home</a></nav><div>{text}</div></div>"
    assert "| Bean | 4 | \n| Bean | `a` `b` |" in page_texts(whole.encode())[0].body


def test_a_cell_that_claims_to_span_everything_takes_linear_time() -> None:
    rows = "<tr>" + "<td rowspan=1000>x</td>" * 20 + "</tr>"
    assert len(body(f"<table>{rows * 300}</table>")) < 200_000


def test_a_table_without_a_head_is_one_where_the_text_is_found_by_its_words() -> None:
    menu = "<div class=menu><a href=b>Next</a></div>"
    rows = "<tr><td><b>Options</b></td><td></td></tr><tr><td><code>-v</code></td><td>Says more.</td></tr>"
    text = f"<h1>T</h1><p>{WORDS}</p><pre>list</pre><table>{rows}</table><p>{WORDS}</p>"
    page = f"<body><div role=navigation>{menu}</div>{text}"
    found = page_texts(page.encode())[0].body
    assert re.search(r"\n\n\|[^\n]*Options[^\n]*\n\|(?: --- \|)+\n\|[^\n]*`-v`", found)


def test_the_text_of_a_page_of_sphinx_is_found_in_any_theme() -> None:
    generator = '<meta name="generator" content="Docutils 0.19: https://docutils.example/">'
    menu = "<div role=navigation>Menu</div>"
    text = '<div class="document body"><h1 id=t>T</h1><p>A gear.</p></div>'
    page = f"<head>{generator}</head><body>{menu}{text}{menu}</body>"
    assert page_texts(page.encode())[0].body == "# T {#t}\n\nA gear."


def test_a_line_break_at_the_end_of_a_paragraph_leaves_no_sign() -> None:
    assert body("<p>A gear.<br>It turns.<br> <br></p><p>Oil.</p>") == "A gear.\\\nIt turns.\n\nOil."
