"""Definition lists of a page, and what only sets its parts in, become lists, sections and blocks of Markdown."""

from __future__ import annotations

import pytest

from rag.ingest.formats.html_files import page_texts

SENTENCE = "Memory is taken by the function below, which is declared in the header of the library. "


def body(html: str) -> str:
    return page_texts(f"<main><h1>T</h1>{html}</main>".encode())[0].body.removeprefix("# T {#}\n\n")


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        (
            "<dl><dt> a </dt><dd>One.<p>Two.</p></dd><dt>b?</dt>\n<dt><code>c</code></dt><dd><p>\nX</p></dd></dl>",
            "- **a**: One.\n\n  Two.\n- **b?**, `c`: X",
        ),
        (
            "<dl compact> <dt> </dt> <dd> 0 Off. </dd> <dt> </dt> <dd> 1 On. </dd></dl>",
            "- 0 Off.\n- 1 On.",
        ),
        (
            "<dl><dt><span>: </span><em></em> <strong>diary</strong> <em>on</em></dt><dd>One.</dd></dl>",
            "- **diary** *on*: One.",
        ),
        ("<dl><dd><p>1: a</p>\n<dd><p>2: b</p></dl><p>c</p>", "- 1: a\n- 2: b\n\nc"),
        ("<dl><div><dt>a</dt><dd><pre>x</pre></dd></div></dl>", "- **a**:\n\n  ```\n  x\n  ```"),
        (
            "<dl><dt>a</dt><dd>One: <dl><dt>b</dt><dd>Two.</dd></dl></dd><dt>c</dt></dl>",
            "- **a**: One:\n  - **b**: Two.\n- **c**",
        ),
    ],
)
def test_terms_are_bold_items_with_their_descriptions(html: str, markdown: str) -> None:
    assert body(html) == markdown


SIZE = "<dt><b><a name=size>size</a>\n(default: 1)</b></dt><dd><p>The size.</p>{}<p>More.</p></dd>"
USER = "<dt id=user>user</dt><dd><p>The user.</p><pre>x</pre></dd>"


def test_terms_with_ids_and_long_descriptions_are_sections_with_these_ids() -> None:
    inner = "<dl><dt>none</dt><dd>Nobody.</dd></dl>"
    assert body(f"<h2 id=s>Settings</h2><dl>{SIZE.format(inner)}{USER}</dl><h2>Next</h2>") == (
        "## Settings {#s}\n\n### size {#size}\n\n**size (default: 1)**: The size.\n\n- **none**: Nobody.\n\nMore.\n\n"
        "### user {#user}\n\n**user**: The user.\n\n```\nx\n```\n\n## Next {#}"
    )


def test_a_signature_inside_the_description_of_another_is_a_section_below_it() -> None:
    method = "<dl><dt class=sig id=m>C.m(*a)</dt><dd><p>Does.</p><p>More.</p></dd></dl>"
    assert body(f"<dl><dt class=sig id=c>C<a href=#c>¶</a></dt><dd><p>A class.</p>{method}</dd></dl>") == (
        "## C {#c}\n\n`C`: A class.\n\n### C.m(*a) {#m}\n\n`C.m(*a)`: Does.\n\nMore."
    )


@pytest.mark.parametrize(
    "html",
    [
        f"<dl>{SIZE.format('')}</dl><p>This belongs to the whole page.</p>",
        f"<ul><li><dl>{SIZE.format('')}</dl></li></ul>",
        "<dl><dt id=a>a</dt><dd>Short.</dd></dl>",
    ],
)
def test_terms_are_no_sections_where_text_follows_around_them_and_where_they_are_short(html: str) -> None:
    assert "\n#" not in body(html)
    assert "- **" in body(html)


def test_terms_of_a_page_that_is_found_by_its_words_are_kept() -> None:
    listing = "<dl><dt><a name=m>term</a></dt><dd>Means this.</dd></dl>"
    page = f"<body><nav>Menu</nav><h1>T</h1><p>{SENTENCE * 5}</p>{listing}<p>{SENTENCE * 5}</p></body>"
    assert "term: Means this." in page_texts(page.encode())[0].body


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("<pre>x</pre><p>A.</p>", "```\nx\n```\n\nA."),
        ("<ul><li>a</ul>", "- a"),
        ("<p>A.</p><ul><li>a</ul>", "> A.\n>\n> - a"),
        ("A <ol><li>a</ol>", "> A\n>\n> 1. a"),
    ],
)
def test_a_quote_is_what_has_words_and_no_table_code_or_definitions(html: str, markdown: str) -> None:
    assert body(f"<blockquote> {html} </blockquote>") == markdown
