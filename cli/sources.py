"""The sources of an answer in a terminal: a compact line each below the answer, or all of them with their quotes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from cli.markdown import is_web_address, links_work
from cli.terminal import in_line, printable
from rag.answer.render import sources_footer
from rag.types import CLOSEST, Citation, Footer, Quote

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

MOST: Final = 5  # sources below an answer; `/sources` shows all
_NEAR: Final = 0.5  # part of the threshold from which a page is near
_FORMS: Final[tuple[Footer, ...]] = ("list", "files", "scores")


def form_of(footer: str, citations: Sequence[Citation]) -> Footer | None:
    """The form of the sources footer; None if the text is something else."""
    return next((form for form in _FORMS if footer and footer == sources_footer(citations, form)), None)


def print_compact(screen: Console, citations: Sequence[Citation], form: Footer) -> None:
    """A line for each of the first sources, in the order of the answer; sources that look the same share one."""
    from rich.text import Text

    sources: dict[tuple[str, str], list[str]] = {}
    for citation in citations:
        sources.setdefault(_named(citation, form), []).append(f"[{citation.marker}]")
    shown = list(sources.items())[: MOST if len(sources) > MOST + 1 else None]
    for (name, url), markers in shown:
        for line in _with_address(Text(f"{' '.join(markers)} ", no_wrap=True), name, url, screen):
            screen.print(line, soft_wrap=True, style="dim")
    if len(sources) > len(shown):
        screen.print(f"{len(sources) - len(shown)} more: /sources", style="dim")


def print_closest(screen: Console, pages: Sequence[tuple[str, str]]) -> None:
    """The pages that come near to a refused question: name and address, on one line each where they fit."""
    from rich.text import Text

    screen.print("Closest pages:", style="dim")
    for name, url in pages:
        for line in _with_address(Text("- ", no_wrap=True), in_line(name), in_line(url), screen):
            screen.print(line, soft_wrap=True, style="dim")


def closest_in(trace: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """The names of candidates that came near in a search that found nothing good enough. A trace has no addresses."""
    if not trace:
        return []
    near = [one for one in trace["candidates"] if one["cosine"] >= trace["threshold"] * _NEAR]
    candidates = sorted(near, key=lambda one: -one["cosine"])
    names = [" > ".join(dict.fromkeys(filter(None, (one["title"], one["heading"])))) for one in candidates]
    return [(name, "") for name in list(dict.fromkeys(names))[:CLOSEST]]


def _named(citation: Citation, form: Footer) -> tuple[str, str]:
    """Name and address of a source."""
    name, url = in_line(citation.breadcrumb or citation.title), in_line(citation.url)
    if form == "files" and citation.source_file_path and citation.source_file_path != url:
        name += f", {in_line(citation.source_file_path)}"
    return name + (f" ({citation.score:.2f})" if form == "scores" else ""), url


def _with_address(line: Text, name: str, url: str, screen: Console) -> list[Text]:
    """The name as a link; where that is impossible with its address, on two lines if the address would be cut."""
    from rich.text import Text

    width = screen.width
    if links_work(screen) and is_web_address(url):
        return [_cut(line.append(name, style=f"link {url}"), width)]
    line.append(name)
    if not url:
        return [_cut(line, width)]
    address = Text(f"  {url}")
    if line.cell_len + address.cell_len <= width:
        return [line.append_text(address)]
    room = width - address.cell_len
    if room >= width // 2:
        return [_cut(line, room).append_text(address)]
    return [_cut(line, width), Text(f"    {url}")]


def _cut(line: Text, width: int) -> Text:
    """The line, cut between two words to at most `width` columns."""
    if line.cell_len <= width:
        return line
    line.truncate(width - 1)
    end = line.plain.rfind(" ")
    if end > width // 2:
        line.right_crop(len(line.plain) - end)
    return line.append("…")


def print_full(screen: Console, citations: Sequence[Citation]) -> None:
    """Each source with its score, its address and every quote."""
    from rich.padding import Padding
    from rich.text import Text

    for citation in citations:
        name = Text(f"[{citation.marker}] {in_line(citation.breadcrumb or citation.title)}", style="bold")
        screen.print(name.append(f"  {citation.score:.2f}", style="not bold dim"))
        screen.print(Text(f"    {in_line(citation.url)}", style="dim"), soft_wrap=True)
        for quote in [Quote.of(citation), *citation.occurrences]:
            screen.print(Padding(Text(f"“{printable(' '.join(quote.quote.split()))}”"), (0, 0, 0, 4)))
