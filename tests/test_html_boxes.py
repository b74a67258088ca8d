"""Notes as DocBook makes them, figures, and line breaks between blocks."""

from __future__ import annotations

import pytest

from rag.ingest.formats.html_files import page_texts


def body(html: str) -> str:
    return page_texts(f"<main><h1>T</h1>{html}</main>".encode())[0].body.removeprefix("# T {#}\n\n")


BOXES = {
    "a title that is a heading": (
        "<div class=tip><h3 class=title>Tip</h3><p>Feed bees in March.</p></div><p>They fly.</p>",
        "Tip:\n\nFeed bees in March.\n\nThey fly.",
    ),
    "a table": (
        "<div class=note><table><tr><td rowspan=2><img src=n.png alt='[Note]'></td><th>Note</th></tr>"
        "<tr><td colspan=2><p>Bees sting.</p><p>Wear gloves.</p></td></tr></table></div>",
        "Note:\n\nBees sting.\n\nWear gloves.",
    ),
    "a table of data": (
        "<div class=note><table><tr><th>Hive</th><th>Bees</th></tr><tr><td>A</td><td>9</td></tr></table></div>",
        "| Hive | Bees |\n| --- | --- |\n| A | 9 |",
    ),
    "a section of a page": (
        "<div class=note><h3>Swarms</h3><p>In May.</p></div>",
        "### Swarms {#}\n\nIn May.",
    ),
}


@pytest.mark.parametrize(("html", "markdown"), BOXES.values(), ids=BOXES)
def test_the_title_of_a_note_begins_no_section_and_is_no_table(html: str, markdown: str) -> None:
    assert body(html) == markdown


def test_a_picture_says_nothing_that_the_title_of_its_figure_says() -> None:
    figure = "<div class=figure><p><b>Figure 1.2. An open hive</b></p><div><img src=h.png alt='{}'></div></div>So."
    assert body(figure.format("An open hive")) == "**Figure 1.2. An open hive**\n\nSo."
    assert "Image: Frames of wax" in body(figure.format("Frames of wax"))


def test_a_line_break_between_blocks_is_left_out() -> None:
    assert body("<p>One<br>two.</p><br><p>Three.</p><p><br></p>") == "One\\\ntwo.\n\nThree."


def test_bold_words_in_bold_words_are_marked_once() -> None:
    assert (
        body("<p><b>Queen <strong>bee</strong></b> and <i>the <em>drone</em></i>.</p>")
        == "**Queen bee** and *the drone*."
    )


def test_the_fields_of_an_entry_of_docbook_stay_together() -> None:
    def entry(name: str) -> str:
        fields = f"<div class=seg><strong><span class=segtitle>Option: </span></strong><code>{name}</code></div>"
        fields += "<div class=seg><strong>Default:</strong> 12</div><div class=seg>How many <i>teeth</i>.</div>"
        return f'<div class="seglistitem"><a id="{name}"></a>{fields}</div>'

    found = body(f'<div class="segmentedlist">{entry("Gear::Teeth")}{entry("Gear::Oil")}</div>')
    described = "`Gear::Teeth`: **Default:** 12\n\nHow many *teeth*."
    assert found.startswith(f"## Gear::Teeth {{#Gear::Teeth}}\n\n{described}\n\n## Gear::Oil")


def test_a_term_in_a_box_of_its_own_is_a_line() -> None:
    assert (
        body("<dl><dt><div><p><code>gear</code> turn</p></div></dt><dd>It turns.</dd></dl>")
        == "- `gear` turn: It turns."
    )
