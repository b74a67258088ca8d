"""What a page of HTML says becomes Markdown, and what stands around it does not."""

from __future__ import annotations

import pytest

from rag.ingest.formats.html_files import page_texts, parsed_html


def body(html: str) -> str:
    return page_texts(f"<main><h1>T</h1>{html}</main>".encode())[0].body.removeprefix("# T {#}\n\n")


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<h2 id=a>A <a href='#a'>¶</a></h2>", "## A {#a}"),
        ("<h2><a id=a></a>A</h2>", "## A {#a}"),
        ("<section id=a><span></span><h2>A <code>f</code></h2></section>", "## A `f` {#a}"),
        ("<p>B</p><a name=a></a><h2><a href='#a'>A</a></h2>", "B\n\n## A {#a}"),
        ("<div id=a><p>B</p><h2>A</h2></div>", "B\n\n## A {#}"),
    ],
)
def test_a_heading_has_its_own_id_or_that_of_its_section_or_of_a_link(html: str, markdown: str) -> None:
    assert body(html) == markdown


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<dl><dt> a </dt><dd>One.<p>Two.</p></dd><dt>b?</dt>\n<dt><code>c</code></dt><dd><p>\nX</p></dd></dl>",
         "- **a**: One.\n\n  Two.\n- **b?**, `c`: X"),
        ("<dl><div><dt>a</dt><dd><pre>x</pre></dd></div></dl>", "- **a**:\n\n  ```\n  x\n  ```"),
        ("<dl><dt>a</dt><dd>One: <dl><dt>b</dt><dd>Two.</dd></dl></dd><dt>c</dt></dl>",
         "- **a**: One:\n  - **b**: Two.\n- **c**"),
        ("<dl><dt><h2>Why</h2></dt><dd>So.</dd></dl>", "## Why {#}\n\nSo."),
    ],
)  # fmt: skip
def test_terms_are_bold_items_with_their_descriptions(html: str, markdown: str) -> None:
    assert body(html) == markdown


LONG = "<dt id=size>size</dt><dd><p>The size.</p>{}<p>More.</p></dd>"


def test_terms_with_ids_and_long_descriptions_are_sections_with_these_ids() -> None:
    method = "<dl><dt id=m>C.m(*a)<a href='#m'>¶</a></dt><dd><p>Does.</p><p>More.</p></dd></dl>"
    assert body(f"<h2 id=s>Settings</h2><dl>{LONG.format(method)}</dl><h2>Next</h2>") == (
        "## Settings {#s}\n\n### size {#size}\n\nThe size.\n\n- **C.m(\\*a)**: Does.\n\n  More.\n\nMore.\n\n## Next {#}"
    )
    assert body(f"<dl><dt id=c>C</dt><dd><p>A class.</p>{method}</dd></dl>") == (
        "## C {#c}\n\nA class.\n\n### C.m(\\*a) {#m}\n\nDoes.\n\nMore."
    )
    signature = f"name({', '.join(['argument'] * 12)})"
    assert body(f"<dl>{LONG.format('').replace('>size<', f'>{signature}<')}</dl>").startswith(
        f"## size {{#size}}\n\n{signature}\n\nThe size."
    )


@pytest.mark.parametrize("html", ["<dl>{}</dl><p>This belongs to the page.</p>", "<ul><li><dl>{}</dl></li></ul>"])
def test_terms_are_no_sections_where_text_follows_that_belongs_to_none(html: str) -> None:
    assert "- **size**: The size." in body(html.format(LONG.format("")))


@pytest.mark.parametrize(
    ("rows", "markdown"),
    [
        ("<tr><th>Command</th><th>Use</th></tr><tr><td>ls</td><td>Long:<pre>ls -l\n  ls -a|b</pre></td></tr>",
         "| Command | Use |\n| --- | --- |\n| ls | Long: `ls -l` `ls -a\\|b` |"),
        ("<thead><tr><th>Plant<th>Depth<tbody><tr><td rowspan=2>Bean<td>4<tr><td>5<tfoot><tr><td>a<td>b",
         "| Plant | Depth |\n| --- | --- |\n| Bean | 4 |\n| Bean | 5 |\n| a | b |"),
        ("<caption>Depths</caption><colgroup><col></colgroup><thead></thead><tr><td>Leek</td><td>9</td></tr>",
         "Depths\n\n| Leek | 9 |\n| --- | --- |"),
        ("<tr><td><h2 id=l>Left</h2><p>One.</p></td><td><table><tr><td>a</td><td>b</td></tr></table></td></tr>",
         "## Left {#l}\n\nOne.\n\n| a | b |\n| --- | --- |"),
        ("<tr><td><pre>1\n2</pre></td><td><pre>a = 1\nb = 2</pre></td></tr>", "```\na = 1\nb = 2\n```"),
    ],
)  # fmt: skip
def test_a_table_keeps_its_cells_and_columns_and_one_that_sets_the_page_is_none(rows: str, markdown: str) -> None:
    assert body(f"<table>{rows}</table>") == markdown


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<pre><code class='language-py'>a\n  b</code></pre>", "```py\na\n  b\n```"),
        ("<div class='highlight-rust'><pre>a<br>b</pre></div>", "```rust\na\nb\n```"),
        ("<pre><span class=line>a</span><span class=line>b</span></pre>", "```\na\nb\n```"),
        ("<pre>a ``` b</pre>", "````\na ``` b\n````"),
        ("<p><code>a*b</code> and <kbd>Ctrl</kbd></p>", "`a*b` and `Ctrl`"),
        ("<p>At most (default:\n50) of\n<b>them</b>.</p>\n <ul><li>a\n b<br>\nc</ul>",
         "At most (default: 50) of **them**.\n\n- a b\\\n  c"),
        ("<p>10<sup>6</sup>, <i>x</i><sup>n</sup> and the 1<sup>st</sup></p>", "10^6, *x*^n and the 1st"),
        ("<blockquote>A.<ul><li>a</ul></blockquote><blockquote><pre>x</pre></blockquote>",
         "> A.\n>\n> - a\n\n```\nx\n```"),
        ("<ol start=9><li>Nine<ul><li>Dash<p>More</ul><li>Ten</ol>", "9. Nine\n   - Dash\n\n     More\n10. Ten"),
        ("<figure><img src=h alt='A heron'></figure><p>A <img alt=small> one.</p>", "Image: A heron\n\nA small one."),
        ("<a href='data:x'>a</a> <a href='b c'>b</a> <a href='#n'>#</a> <a href=d><p>d</p></a>", "a [b](b%20c)\n\nd"),
        ("<p>Bees<sup><a href='#f1'>1</a></sup> hum.</p><ol><li id=f1>So. <a class=backlink href='#r'>↩</a></ol>",
         "Bees hum.\n\n1. So."),
        ("<p class='admonition-title'>Note</p><p>Mind.</p><p class=admonitionHeading_x>Tip!</p>",
         "Note:\n\nMind.\n\nTip!"),
        ("It is <math alttext='a_{b}'><mi>a</mi></math>", "It is $a_{b}$"),
        ("<math><mi>a</mi><annotation encoding='application/x-tex'>\\frac{a}{b}</annotation></math>", "$\\frac{a}{b}$"),
        ("<math><msup><mn>10</mn><mrow><mo>-</mo><mn>6</mn></mrow></msup></math>", "10 - 6"),
        ("<div><div class=tabbed-labels><label>Linux</label></div><div class=tabbed-block><p>One.</p></div></div>",
         "Linux:\n\nOne."),
    ],
)  # fmt: skip
def test_blocks_and_words_keep_their_form(html: str, markdown: str) -> None:
    assert body(html) == markdown


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("3 * 4 and file_name_here are plain", "3 * 4 and file_name_here are plain"),
        ("*starred* and __init__ in `ticks`", r"\*starred\* and \_\_init\_\_ in \`ticks\`"),
        ("[1] is no link", r"\[1\] is no link"),
        ("# apt-get<br>&gt; 5", "\\# apt-get\\\n\\> 5"),
    ],
)
def test_a_sign_of_the_text_is_escaped_where_markdown_would_read_it(text: str, markdown: str) -> None:
    assert body(f"<p>{text}</p>") == markdown


HIDDEN = (
    "<p hidden>x</p><p aria-hidden=true>x</p><p style='display: none'>x</p><script>x</script><button>x</button>"
    "<div class=linenos>x</div><nav>x</nav><footer>x</footer><!-- x -->"
)


def test_what_no_reader_sees_is_left_out() -> None:
    assert body(f"{HIDDEN}<p>A.</p><div role=tabpanel hidden>B.</div>") == "A.\n\nB."


PROSE = "<p>A robot that senses its surroundings can decide what to do next.</p>"


@pytest.mark.parametrize(
    "page",
    [
        "<nav>x</nav><main><h1>R</h1>{}</main><p>x</p>",
        "<div class=document><div class=body role=main><h1>R</h1>{}</div></div><p>x</p>",
        "<p>x</p><div id=apicontent><div><h1>R</h1>{}</div></div>",
        "<header><a href=x>x</a></header><h1>R</h1>{}<aside>x</aside>",
        "<div class=sidebar><ul><li><a href=x>x</a><li><a href=x>x</a></ul></div><h1>R</h1>{}<footer>x</footer>",
        "<p><a href=b accesskey=n>x</a>, Previous: <a href=a accesskey=p>x</a></p><h1>R</h1>{}",
        "<main><article><h1>R</h1>{}</article><div>x</div></main>",
    ],
)
def test_menus_and_ways_to_other_pages_are_left_out_of_every_kind_of_site(page: str) -> None:
    (text,) = page_texts(page.format(PROSE).encode())
    assert text.body == "# R {#}\n\nA robot that senses its surroundings can decide what to do next."


@pytest.mark.parametrize(
    ("page", "program"),
    [("File.h Source File", "Doxygen 1.9"), ("alloc.rs - source", "rustdoc"), ("Index (App)", "javadoc/21")],
)
def test_a_page_that_only_lists_others_is_none(page: str, program: str) -> None:
    assert page_texts(f'<title>{page}</title><meta name=generator content="{program}"><p>A.</p>'.encode()) == []


def test_the_title_is_that_of_the_head_without_the_name_of_the_site() -> None:
    head = '<title>Robots - Guide — Site</title><meta property="og:site_name" content="Site">'
    assert page_texts(f"{head}<p>A.</p>".encode())[0].fields == {"title": "Robots - Guide"}


@pytest.mark.parametrize(
    ("named", "encoding"),
    [("iso-8859-1", "cp1252"), ("ascii", "cp1252"), ("gb2312", "gb18030"), ("shift_jis", "cp932"), ("utf-8", "utf-8"),
     ("iso-2022-jp", "iso-2022-jp"), ("nonsense", "cp1252")],
)  # fmt: skip
def test_a_page_is_decoded_as_browsers_do(named: str, encoding: str) -> None:
    words = {"gb18030": "漢字", "cp932": "①漢", "iso-2022-jp": "漢字"}.get(encoding, "“Größe”")
    page = f'<meta charset="{named}"><p>{words}</p>'
    assert page_texts(page.encode(encoding))[0].body == words


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("<p " + " ".join(f"a{n}" for n in range(200_000)) + ">", "a tag of it has more than 2,000 attributes"),
        ("<div>" * 49_000 + "deep", "it is nested too deeply"),
        ("<p>" * 100_001, "it has more than 100,000 tags"),
        (f"<main><table><tr>{'<td colspan=1000>x' * 3_000}", "its text becomes larger than 10 megabytes"),
    ],
)
def test_a_hostile_page_is_refused_with_its_limit(page: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        page_texts(page.encode())


def test_quotes_keep_their_levels_up_to_a_dozen_and_their_words_at_any() -> None:
    assert body("<blockquote>" * 240 + "Words.") == "> " * 12 + "Words."


def test_a_cell_that_claims_to_span_everything_fills_a_bounded_number_of_cells() -> None:
    rows = "<tr>" + "<td rowspan=1000>x</td>" * 20 + "</tr>"
    assert len(body(f"<table>{rows * 300}</table>")) < 200_000


def test_text_without_a_tag_is_a_page() -> None:
    assert parsed_html(b"a & b").text_content() == "a & b"
