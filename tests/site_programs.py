"""Build the small books of `tests/data/sites` with the generators themselves, and note what the sites have.

    python -m tests.site_programs [GENERATOR...]

For each book it writes `expected.json` beside it: the program's version, and for each page its address and the anchors
of its headings, in order; null stands for a heading without one. The programs must be on the PATH: mkdocs with
mkdocs-material, hugo, mdbook, and docusaurus (from npm: @docusaurus/core,
@docusaurus/preset-classic, react, react-dom; give the folder that holds `node_modules` in NODE_HOME).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote

SITES: Final = Path(__file__).parent / "data" / "sites"
COMMANDS: Final = {
    "mkdocs": ["mkdocs", "build", "-q", "-d", "OUT"],
    "hugo": ["hugo", "--quiet", "-d", "OUT"],
    "mdbook": ["mdbook", "build", "-d", "OUT"],
    "docusaurus": ["node_modules/.bin/docusaurus", "build", ".", "--out-dir", "OUT"],
}
VERSIONS: Final = {"hugo": "version"}
_GENERATED: Final = re.compile(r"(?:^|/)(?:404|print|toc|search|genindex|sitemap)$|_static|_sources")


class _Headings(HTMLParser):
    """The ids of the headings of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str | None] = []
        self.redirects = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if re.fullmatch("h[1-6]", tag) and given.get("class") not in ("menu-title", "logo"):
            self.found.append(given.get("id"))
        self.redirects |= tag == "meta" and (given.get("http-equiv") or "").lower() == "refresh"


def bare(path: str) -> str:
    """The address of a page without what servers add: `guide/index.html` and `guide/` are `guide`."""
    return re.sub(r"(?:(?:^|/)index)?(?:\.html)?$", "", unquote(path).strip("/")).strip("/")


def built(name: str, folder: Path) -> dict[str, list[str | None]]:
    """The anchors of each page of the book, by address, as its generator makes them."""
    home = folder / "book"
    shutil.copytree(SITES / name, home, ignore=shutil.ignore_patterns("expected.json"))
    if name == "docusaurus":
        (home / "node_modules").symlink_to(Path(os.environ["NODE_HOME"]) / "node_modules")
    out = folder / "out"
    command = [str(out) if part == "OUT" else part for part in COMMANDS[name]]
    subprocess.run(command, cwd=home, check=True)
    pages = {}
    for file in sorted(out.rglob("*.html")):
        address = bare(file.relative_to(out).as_posix())
        reader = _Headings()
        reader.feed(file.read_text(encoding="utf-8"))
        if not reader.redirects and not _GENERATED.search(address):
            pages[address] = reader.found
    return pages


def version(name: str) -> str:
    """What the program says that it is."""
    program = COMMANDS[name][0]
    if name == "docusaurus":
        package = Path(os.environ["NODE_HOME"]) / "node_modules/@docusaurus/core/package.json"
        return f"docusaurus {json.loads(package.read_text(encoding='utf-8'))['version']}"
    done = subprocess.run([program, VERSIONS.get(name, "--version")], capture_output=True, text=True, check=True)
    words = re.sub(r" from .*", "", done.stdout.strip()).split("\n")[-1].split()
    return " ".join([name, *(word for word in words if re.match(r"v?\d", word))][:2])


def main(names: list[str]) -> None:
    for name in names or COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            expected = {"made by": version(name), "pages": built(name, Path(folder))}
        text = json.dumps(expected, ensure_ascii=False, indent=1, sort_keys=True)
        (SITES / name / "expected.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
