"""The border of the memory: what SQLite and PostgreSQL raise becomes one family, with what to do about it.

Foreign text never passes: it may hold a password, or the words of a conversation.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rag.errors import AskbookError, MemoryFailureError

_LOCKED: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_BROKEN: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT})
_WORDS: Final = {"locked": _LOCKED, "full": frozenset({sqlite3.SQLITE_FULL}), "malformed": _BROKEN}
_PRIMARY: Final = 0xFF  # an extended code of SQLite holds its primary one in the lowest byte

# SQLSTATE, or its class of two letters, of PostgreSQL: what several of its exception classes mean to us.
_SQLSTATES: Final = {
    "53100": "disk_full",
    "55P03": "memory_locked",  # lock not available
    "55006": "memory_locked",  # object in use
    "40": "memory_locked",  # serialization failure, deadlock
    "XX001": "memory_broken",  # data corrupted
    "XX002": "memory_broken",  # index corrupted
    "42": "memory_broken",  # no such table or column, but 42501 below
    "42501": "memory_unreachable",  # insufficient privilege
    "3F": "memory_unreachable",  # no schema that the role may write to
    "22": "memory_broken",
    "23": "memory_broken",
}


def memory_failure(error: BaseException, place: str) -> MemoryFailureError | None:
    """What a failing memory is called, and what to do about it; None for what is no failure of a database.

    A library may wrap or follow up the failure with another, so what it came from is looked at too.
    """
    code = next((code for one in _chain(error) if (code := _code(one))), None)
    return _failure(code, place) if code else None


def broken_conversation(thread_id: str, place: str) -> MemoryFailureError:
    """What is said of a conversation whose stored data cannot be read."""
    return MemoryFailureError(
        "conversation_broken",
        f'The conversation "{thread_id}" in {place} is damaged and cannot be read.',
        hint="Other conversations are not touched. Put a copy of the database back, or delete this conversation.",
    )


@contextmanager
def border(place: str) -> Iterator[None]:
    """Let nothing foreign through: what a database raises in the block comes out as `MemoryFailureError`."""
    try:
        yield
    except AskbookError:
        raise
    except Exception as error:
        failure = memory_failure(error, place)
        if failure is None:
            raise
        raise failure from None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and what it came from, the latter first: a failed COMMIT says less than what made it fail."""
    found: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in found:
        found.append(one)
        one = one.__cause__ or one.__context__
    return reversed(found)


def _code(error: BaseException) -> str | None:
    if isinstance(error, sqlite3.Error):
        return _of_sqlite(error)
    if isinstance(error, OSError) and not isinstance(error, TimeoutError):
        return "memory_unreachable"
    if type(error).__module__.startswith("psycopg"):  # without importing it where SQLite is used
        return _of_postgres(error)
    return None


def _of_sqlite(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # raised by Python's module and not by SQLite, such as on a closed connection
        known = next((codes for word, codes in _WORDS.items() if word in str(error)), frozenset())
        code = next(iter(known), sqlite3.SQLITE_CANTOPEN)
    primary = code & _PRIMARY
    if primary in _LOCKED:
        return "memory_locked"
    if primary == sqlite3.SQLITE_FULL:
        return "disk_full"
    is_statement = primary == sqlite3.SQLITE_ERROR  # a table or column that is not there: not a database of ours
    if primary in _BROKEN or is_statement or not isinstance(error, sqlite3.OperationalError | sqlite3.InterfaceError):
        return "memory_broken"
    return "memory_unreachable"


def _of_postgres(error: BaseException) -> str | None:
    import psycopg

    if not isinstance(error, psycopg.Error):
        return None
    state = error.sqlstate or ""
    if code := _SQLSTATES.get(state) or _SQLSTATES.get(state[:2]):
        return code
    reached = isinstance(error, psycopg.DataError | psycopg.IntegrityError | psycopg.ProgrammingError)
    return "memory_broken" if reached else "memory_unreachable"


def _failure(code: str, place: str) -> MemoryFailureError:
    if code == "memory_locked":
        return MemoryFailureError("memory_locked", f"{place} is locked by another process.", hint="Try again.")
    if code == "disk_full":
        return MemoryFailureError("disk_full", f"There is no room to write {place}.", hint="Make room, then try again.")
    if code == "memory_broken":
        hint = "Move it away, or name another, to start afresh; its conversations stay in it."
        return MemoryFailureError("memory_broken", f"{place} is damaged or no database of askbook.", hint=hint)
    hint = "Check ASKBOOK_HOME, ASKBOOK_DATABASE_URL and what you may write there, then try again."
    return MemoryFailureError("memory_unreachable", f"{place} cannot be opened or written.", hint=hint)
