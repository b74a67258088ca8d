"""Choosing elements of an HTML page gives what CSS selectors give."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

from rag.ingest import html_markdown
from rag.ingest.formats.html_files import page_texts
from rag.ingest.html_elements import Choice, choice

NAMES = ("nav", "main", "div", "h2", "math", "svg")
ATTRIBUTES = (
    "", "hidden", "hidden=until-found", "role=navigation", "role=main", "role=Main", "role=tablist", "role=tabpanel",
    "role=tabpanel hidden", "aria-hidden=true", "aria-hidden=false", "class=gutter", "class='a katex'", "class=katex-b",
    "class", "class=' line  boring '", "class=tabbed-block id=x",
)  # fmt: skip
INNER = [f"<{name} {one}>{n}</{name}>" for n, name in enumerate(NAMES) for one in ATTRIBUTES]
PAGE = BeautifulSoup(
    f"<body><main>{''.join(INNER)}</main>{''.join(f'<div>{one}</div>' for one in INNER)}</body>", "lxml"
)
DROPPED = (
    "script, style, noscript, template, svg, iframe, form, button, input, select, textarea, nav, [role=navigation], "
    "[role=search], .linenos, .gutter, .boring, .visually-hidden, [aria-hidden=true], [hidden]:not([role=tabpanel])"
)


@pytest.mark.parametrize(
    "selector", ["nav", ".katex", "[role=main]", "main, [role=main]", ".tabbed-block, [role=tabpanel]", "h1, h2, math"]
)
def test_a_choice_finds_what_the_selector_finds(selector: str) -> None:
    found = PAGE.select(selector)
    assert found
    assert [id(one) for one in choice(selector).inside(PAGE)] == [id(one) for one in found]


def test_what_is_dropped_is_what_no_reader_sees_as_text() -> None:
    dropped: Choice = html_markdown._DROPPED
    assert [id(one) for one in dropped.inside(PAGE)] == [id(one) for one in PAGE.select(DROPPED)]


def test_what_is_removed_meanwhile_is_left_out() -> None:
    page = BeautifulSoup("<div class=a><div class=a></div></div>", "lxml")
    found = choice(".a").inside(page)
    next(found).decompose()
    assert list(found) == []


def test_the_title_of_a_note_ends_with_a_colon_in_every_theme() -> None:
    titles = ("class=admonition-title", "class='x markdown-alert-title'", "class=admonitionHeading_Gvgb", "class=title")
    (text,) = page_texts(f"<main>{''.join(f'<p {one}>Note</p>' for one in titles)}</main>".encode())
    assert text.body.split() == ["Note:", "Note:", "Note:", "Note"]


def test_the_lines_of_a_paragraph_are_one_line_and_those_of_code_stay() -> None:
    page = "<h1>T</h1><p>At most (default:\n50) of\n<b>them</b>.</p>\n <ul><li>a\n b<br>\nc</ul> <pre>x\ny</pre>"
    assert page_texts(f"<main>{page}</main>".encode())[0].body == (
        "# T {#}\n\nAt most (default: 50) of **them**.\n\n- a b\\\n  c\n\n```\nx\ny\n```"
    )


def test_a_page_whose_text_has_only_a_role_is_that_text() -> None:
    (text,) = page_texts(b"<nav>Menu</nav><div role=main><h1>Title</h1>Words.</div><p>Around.</p>")
    assert (text.body, dict(text.fields)) == ("# Title {#}\n\nWords.", {})


SIGNS = (
    (
        "<strong>void *zalloc (size_t n, void **code)</strong> is C.",
        r"**void \*zalloc (size_t n, void \*\*code)** is C.",
    ),
    ("3 * 4 * 5, file_name_here and list[0] are plain.", "3 * 4 * 5, file_name_here and list[0] are plain."),
    ("*starred* and __init__ in `ticks`", r"\*starred\* and \_\_init\_\_ in \`ticks\`"),
    ("[brackets](x) are no link, one * is no markup*", r"\[brackets](x) are no link, one * is no markup*"),
    ("<code>a*b*c</code> is <em>a_b</em>, <a href='u.html'>string[]</a>", "`a*b*c` is *a_b*, [string[]](u.html)"),
    ("<img alt='the *best* one'> of <b>*</b>", r"the \*best\* one of **\***"),
    (
        "<b>inet:</b><i>host</i><b>:</b><i>port</i>, <i>queue</i><b>_</b><i>id</i>, <b>Note: </b><i>a</i><br><b>$</b>x",
        "**inet:host:port**, **queue_id**, **Note:** *a*\\\n$x",
    ),
    ("in /usr/include/*/*.h, and src/*/*.c.", "in `/usr/include/*/*.h`, and `src/*/*.c`."),
    (r"a path C:\*\_ as before", r"a path C:\*\_ as before"),
    ("<dl><dt><h2>Why</h2></dt><dd>So.</dd><dt>How</dt></dl>", "## Why {#}\n\nSo.\n\nHow"),
)


@pytest.mark.parametrize(("html", "markdown"), SIGNS)
def test_a_sign_of_the_text_is_escaped_where_markdown_would_read_it(html: str, markdown: str) -> None:
    whole = f"<html><body><main><h1>Signs</h1><p>{html}</p></main></body></html>"
    assert page_texts(whole.encode())[0].body == f"# Signs {{#}}\n\n{markdown}"


def test_a_page_around_whose_text_menus_stand_keeps_the_signs_too() -> None:
    words = "Memory is taken by the function below, which is declared in the header of the library. " * 5
    text = (
        f"<h1>Signs</h1><p>{words}</p><p>{words} It is **not** a_b, and <code>a\\_c</code> is 3 * 4.</p><p>{words}</p>"
    )
    whole = f"<html><body><div><nav><a href='/'>Home</a></nav><div>{text}</div><footer>End</footer></div></body></html>"
    body = page_texts(whole.encode())[0].body
    assert r"It is \*\*not\*\* a_b, and `a\_c` is 3 \* 4." in body


def test_the_signs_of_a_hostile_page_take_linear_time() -> None:
    rows = "".join(f"<li>[*_`{n}" for n in range(3_000))
    body = page_texts(f"<body><p>{'[*`_ ' * 50_000}</p><ul>{rows}</ul></body>".encode())[0].body
    assert body.startswith(r"\[\*\`\_")
