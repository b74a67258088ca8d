"""Which books each key may see: the list in ASKBOOK_BOOKS."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from rag.errors import UsageError

_SEPARATOR = ":"  # in neither the name of a key nor that of a collection


class BookAccess(NamedTuple):
    """The entries of ASKBOOK_BOOKS in their order, as (name of a key or "", book); None if it is not set.

    An entry without a name holds for everyone. Without a list, everyone may see every book.
    """

    entries: tuple[tuple[str, str], ...] | None = None

    @classmethod
    def parse(cls, text: str | None, names: Collection[str] = ()) -> BookAccess:
        """The access from `BOOK,NAME:BOOK`; `names` are those of the keys. Raises `UsageError` for another name."""
        if text is None:
            return cls()
        entries = []
        for entry in filter(None, (part.strip() for part in text.split(","))):
            name, separator, book = entry.rpartition(_SEPARATOR)
            if not book or (separator and name not in names):
                problem = f"ASKBOOK_BOOKS has the entry {entry[:100]!r}"
                told = ", but ASKBOOK_API_KEYS has no such name." if book and name else ", which is not allowed."
                raise UsageError(problem + told, code="settings", hint="Write BOOK for everyone, or NAME:BOOK.")
            entries.append((name, book))
        if not entries:
            raise UsageError("ASKBOOK_BOOKS lists no book.", code="settings", hint="Unset it to offer every book.")
        return cls(tuple(entries))

    def allows(self, name: str, book: str) -> bool:
        """Whether the key of that name may see the book. Says nothing about whether there is such a book."""
        return self.entries is None or any(book == one for owner, one in self.entries if owner in ("", name))

    def usual(self, name: str, usual: str) -> str | None:
        """The book that answers this key when it names none: `usual` if the key may see it, else its first one."""
        if self.allows(name, usual):
            return usual
        return next(iter(self._of(name)), None)

    def _of(self, name: str) -> Iterable[str]:
        return (book for owner, book in self.entries or () if owner in ("", name))
