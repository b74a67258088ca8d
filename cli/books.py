"""`run.py books`: the books in the index."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING, Any, Final

from cli.terminal import by_rules, clipped, in_line, print_json
from rag.settings import Settings
from rag.text.counting import counted

if TYPE_CHECKING:
    from rag.books.stored_books import BookRecord

_STATES: Final = {"absent": "not indexed yet", "foreign": "made by another program", "broken": "cannot be read"}


def books(options: argparse.Namespace) -> int:
    """Exit code 0, or 2 for an unknown name and for a book that must not be changed."""
    settings = Settings.from_env()
    data, text = asyncio.run(_ACTIONS[options.action](options, settings))
    if options.json:
        print_json(data)
    else:
        print(text)
    return 0


async def _list(_options: argparse.Namespace, settings: Settings) -> tuple[Any, str]:
    from rag.books.stored_books import list_books

    found = await list_books(settings)
    width = max(len(book.name) for book in found)
    return [_data(book) for book in found], "\n".join(row(book, min(width, 40)) for book in found)


async def _show(options: argparse.Namespace, settings: Settings) -> tuple[Any, str]:
    from rag.books.stored_books import show_book

    found = await show_book(settings, options.name)
    return _data(found), "\n".join(_lines(found))


async def _rename(options: argparse.Namespace, settings: Settings) -> tuple[Any, str]:
    from rag.books.stored_books import rename_book

    renamed = await rename_book(settings, options.name, options.new)
    text = f'"{in_line(options.name)}" is now called "{in_line(renamed.name)}" ({size(renamed)}).'
    return {"renamed": options.name} | _data(renamed), text


async def _delete(options: argparse.Namespace, settings: Settings) -> tuple[Any, str]:
    from rag.books.book_settings import MANUAL
    from rag.books.stored_books import delete_book

    deleted = await delete_book(settings, options.name)
    text = f'Deleted "{in_line(deleted.name)}": {in_line(deleted.title)} ({size(deleted)}).'
    if deleted.name == MANUAL:
        text += " It is indexed again when it is needed."
    return {"deleted": deleted.name} | _data(deleted), text


_ACTIONS: Final = {"list": _list, "show": _show, "rename": _rename, "delete": _delete}


def row(book: BookRecord, width: int = 20) -> str:
    """A book on one line: name, size, date and title."""
    when = (book.date or "")[:10]
    return (
        f"{clipped(in_line(book.name), width):<{width}}  {size(book):<28}  {when:<10}  {in_line(book.title)}".rstrip()
    )


def size(book: BookRecord) -> str:
    """The pages and passages of a book, or why there are none."""
    if book.state in ("absent", "broken"):
        return _STATES[book.state]
    size = counted(book.passages, "passage")
    if book.state == "foreign":
        return f"{size}, {_STATES[book.state]}"
    return f"{counted(book.pages, 'page')}, {size}" if book.pages is not None else size


def _lines(book: BookRecord) -> list[str]:
    fields = {
        "name": book.name,
        "title": book.title,
        "state": _STATES.get(book.state, "ready"),
        "problem": book.problem,
        "pages": "" if book.pages is None else f"{book.pages:,}",
        "passages": f"{book.passages:,}",
        "model": book.embedding_model,
        "date": (book.date or "").replace("T", " ")[:16],
        "profiles": ", ".join(book.profiles),
    }
    lines = [f"{name + ':':<11}{in_line(text)}" for name, text in fields.items() if text]
    for source in book.sources:
        rules = f" (read {by_rules(source.generator)}: {source.reason})" if source.generator else ""
        lines.append(in_line(f"{'source:':<11}{source.source}{rules}"))
    return lines


def _data(book: BookRecord) -> dict[str, Any]:
    return book.model_dump(mode="json")
