"""Sites of Hugo: where the configuration may be, and what links and shortcodes become."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.ingest.page import parsed
from tests.books_on_disk import BASE, addresses, pages

CONFIG = {"hugo.toml": 'title = "Site"'}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            CONFIG | {"config/_default/languages.toml": '[en]\ncontentDir = "content/en"', "content/en/a.md": "A"},
            {"content/en/a.md": "/a/"},
        ),
        (
            {
                "hugo.yaml": "defaultContentLanguageInSubdir: true\nlanguages:\n  en:\n    contentDir: content/en",
                "content/en/a.md": "A",
                "content/de/a.md": "A",
            },
            {"content/en/a.md": "/en/a/"},
        ),
    ],
)
def test_all_configuration_files_of_a_site_count(
    files: dict[str, str], expected: dict[str, str], tmp_path: Path
) -> None:
    assert addresses(tmp_path, files) == expected


def test_links_name_pages_from_the_content_folder_and_in_any_case(tmp_path: Path) -> None:
    body = "[a](functions/ByType/) [b](/functions/bytype.md#x) [c](../functions/ByType) [d](gone/) "
    body += '[e]({{< relref path="bytype" >}}) [f](/bytype).'
    files = CONFIG | {"content/about/page.md": body, "content/functions/byType.md": "B"}
    text = pages(tmp_path, files)["content/about/page.md"].text
    there = f"{BASE}/functions/bytype/"
    assert (
        text
        == f"[a]({there}) [b]({there}#x) [c]({there}) [d]({BASE}/about/page/gone/) [e]({there}) [f]({BASE}/bytype)."
    )


def test_code_inside_a_shortcode_stays_code_whatever_it_holds(tmp_path: Path) -> None:
    body = "{{< code lang=md >}}\n# No heading\n\n```sh\nls\n```\n{{< /code >}}\n"
    text = pages(tmp_path, CONFIG | {"content/a.md": body})["content/a.md"].text
    assert text == "````md\n# No heading\n\n```sh\nls\n```\n````"


@pytest.mark.parametrize(
    ("goldmark", "expected"),
    [
        ("parser: {}", ["v10---été", "a--b", "a--b-1"]),
        ("extensions: {typographer: false}", ["v10---été", "a----b", "a----b-1"]),
        ("extensions: {typographer: {disable: true}}", ["v10---été", "a----b", "a----b-1"]),
    ],
)
def test_anchors_follow_the_configuration_of_goldmark(goldmark: str, expected: list[str], tmp_path: Path) -> None:
    files = {
        "hugo.yaml": f"markup:\n  goldmark:\n    {goldmark}\n",
        "content/a.md": "## V1.0 - Été\n\nWords.\n\n## A -- B\n\nWords.\n\n## A -- B\n\nWords.\n",
    }
    page = pages(tmp_path, files)["content/a.md"]
    assert [block.anchor for block in parsed(page).blocks if block.level] == expected


def test_attributes_of_headings_and_blocks_are_not_shown_and_give_the_anchor(tmp_path: Path) -> None:
    body = '## One {#first .wide}\n\nWords.\n{class="wide" id="x"}\n\n## Two {.wide}\n\n## Three {.wide #third}\n'
    page = pages(tmp_path, CONFIG | {"content/a.md": body})["content/a.md"]
    found = parsed(page)
    assert [(block.text, block.anchor) for block in found.blocks if block.level] == [
        ("One", "first"),
        ("Two", "two"),
        ("Three", "third"),
    ]
    assert "wide" not in page.text
