"""Sites of Jekyll: pages of HTML, redirects, dates, and what Liquid and kramdown leave in a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.ingest.page import parsed, walk
from tests.books_on_disk import BASE, addresses, loaded, pages

SITE = {"_config.yml": "name: My site"}


def page(folder: Path, body: str, files: dict[str, str] | None = None) -> str:
    return pages(folder, SITE | {"page.md": f"---\ntitle: Page\n---\n{body}"} | (files or {}))["page.md"].text


def test_pages_of_html_have_front_matter_and_liquid(tmp_path: Path) -> None:
    body = (
        "---\ntitle: API\n---\n{% comment %}no{% endcomment %}"
        '<h2 id="map">Map</h2>\n<p>A <a href="{{ \'guide.html\' | relative_url }}#x">map</a>.</p>'
    )
    files = SITE | {
        "api.html": body,
        "copied.html": "<p>As it is.</p>",
        "404.html": "---\n---\nNot here.",
        "_includes/x.html": "---\n---\nX",
        "guide.md": "---\n---\nG",
    }
    found = pages(tmp_path, files)
    assert sorted(found) == ["api.html", "guide.md"]
    api = found["api.html"]
    assert (api.url, api.title) == (f"{BASE}/api.html", "API")
    assert api.text == f"## Map {{#map}}\n\nA [map]({BASE}/guide.html#x)."


def test_the_site_is_called_what_its_configuration_says(tmp_path: Path) -> None:
    assert loaded(tmp_path, SITE | {"a.md": "---\n---\nA"}).title == "My site"


@pytest.mark.parametrize(
    ("date", "zone", "expected"),
    [
        ("2013-05-06 02:12:52 +0200", "timezone: America/Los_Angeles", "/2013/05/05/x.html"),
        ("2013-05-06 02:12:52 +02:00", "", "/2013/05/06/x.html"),
        ("2013-05-06 01:12:52 +0200", "", "/2013/05/05/x.html"),
        ("2013-05-07 23:00", "timezone: America/Los_Angeles", "/2013/05/07/x.html"),
        ("2013-05-07 23:00:00 +0000", "timezone: Not/AZone", "/2013/05/07/x.html"),
    ],
)
def test_the_day_of_a_post_is_that_of_the_clock_of_the_site(
    date: str, zone: str, expected: str, tmp_path: Path
) -> None:
    files = {"_config.yml": f"title: T\n{zone}", "_posts/2013-05-06-x.md": f"---\ndate: {date}\n---\nX"}
    assert list(addresses(tmp_path, files).values()) == [expected]


def test_links_to_redirects_lead_where_the_reader_arrives(tmp_path: Path) -> None:
    files = {
        "new.md": "---\nredirect_from: [/old/, /older/]\n---\nN",
        "latest.html": "---\nredirect_to: v2.html\n---\n",
        "v2.md": "---\n---\nV",
    }
    text = page(tmp_path, "[a](/old/) [b](/latest.html#x) [c](latest.html)", files)
    assert text == f"[a]({BASE}/new.html) [b]({BASE}/v2.html#x) [c]({BASE}/v2.html)"
    assert sorted(pages(tmp_path, {})) == ["new.md", "page.md", "v2.md"]


@pytest.mark.parametrize(
    ("body", "files", "expected"),
    [
        ("[x]({{ 'docs/a/#b' | relative_url }})", {}, f"[x]({BASE}/docs/a/#b)"),
        ("See [#12][] and a[0][1]. {% for n in x %}[#{{ n }}]: y{% endfor %}", {}, "See #12 and a[0][1]. "),
        ("A {%- include x.html version='4' -%} B", {"_includes/x.html": "<i>v{{ include.version }}</i>\n"}, "Av4\nB"),
        ("A {% include list.html %} B", {"_includes/list.html": "{% for x in y %}no{% endfor %}"}, "A  B"),
    ],
)  # fmt: skip
def test_liquid(body: str, files: dict[str, str], expected: str, tmp_path: Path) -> None:
    assert page(tmp_path, body, files) == expected


def test_an_id_above_a_heading_is_the_headings(tmp_path: Path) -> None:
    body = "A\n\n{:#one}\n## First\n\n{: .x}\n## Second\n\n## Third\n{: #three}"
    found = pages(tmp_path, SITE | {"page.md": f"---\n---\n{body}"})["page.md"]
    assert [block.anchor for block in walk(parsed(found).blocks) if block.anchor] == ["one", "second", "three"]


def test_a_description_is_shown_without_its_tags(tmp_path: Path) -> None:
    found = pages(tmp_path, SITE | {"page.md": "---\ndescription: A <em>new</em> API &mdash; at last\n---\nB"})
    assert found["page.md"].text == "A new API — at last\n\nB"


@pytest.mark.parametrize("code", ["`{% if enabled %}`", "```\n{% if enabled %}\n```"])
def test_a_tag_in_code_makes_no_site_of_jekyll(code: str, tmp_path: Path) -> None:
    found = pages(tmp_path, {"a.md": f"# Templates\n\n{code}\n\nThe name is `{{{{ host }}}}`."})
    assert "`{{ host }}`" in found["a.md"].text


def test_a_tag_outside_code_makes_one(tmp_path: Path) -> None:
    found = pages(tmp_path, {"a.md": "# Pages\n\n{% if page.title %}\n\nWolves.\n\n{% endif %}"})
    assert "{%" not in found["a.md"].text
