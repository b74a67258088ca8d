"""Turn the exceptions of SQLite and PostgreSQL into `MemoryFailureError`, with a hint what to do.

The text of a database exception is never passed on: it may hold a password or the words of a conversation.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rag.errors import AskbookError, MemoryFailureError

_LOCKED: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_BROKEN: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT})
_WORDS: Final = {"locked": _LOCKED, "full": frozenset({sqlite3.SQLITE_FULL}), "malformed": _BROKEN}
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_PRIMARY: Final = 0xFF  # the lowest byte of an extended SQLite error code is the primary code

# Our error code for a PostgreSQL SQLSTATE of five characters, or for its class, the first two. The longer one wins.
_SQLSTATES: Final = {
    "53100": "disk_full",
    "55P03": "memory_locked",  # lock not available
    "55006": "memory_locked",  # object in use
    "40": "memory_locked",  # serialization failure, deadlock
    "XX001": "memory_broken",  # data corrupted
    "XX002": "memory_broken",  # index corrupted
    "42": "memory_broken",  # such as a missing table or column; 42501 is the exception
    "42501": "memory_unreachable",  # insufficient privilege
    "3F": "memory_unreachable",  # no schema that the role may write to
    "22": "memory_broken",  # invalid data
    "23": "memory_broken",  # violated constraint
}


def memory_failure(error: BaseException, place: str) -> MemoryFailureError | None:
    """The `MemoryFailureError` for an exception, or None when no database failure is in its chain.

    A library may wrap the database's exception, or raise another one after it, so the whole chain is examined.
    """
    code = next((code for cause in _chain(error) if (code := _code(cause))), None)
    return _failure(code, place) if code else None


def broken_conversation(thread_id: str, place: str) -> MemoryFailureError:
    """The error for a conversation whose stored data cannot be read."""
    return MemoryFailureError(
        "conversation_broken",
        f'The conversation "{thread_id}" in {place} is damaged and cannot be read.',
        hint="Other conversations are not touched. Put a copy of the database back, or delete this conversation.",
    )


@contextmanager
def border(place: str) -> Iterator[None]:
    """Turn database exceptions raised in the block into `MemoryFailureError`; pass all others on."""
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
    """The exception and its causes, the first cause first: it says more than a failed COMMIT that follows it."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or current.__context__
    return reversed(chain)


def _code(error: BaseException) -> str | None:
    if isinstance(error, sqlite3.Error):
        return _of_sqlite(error)
    if isinstance(error, OSError) and not isinstance(error, TimeoutError):
        return "disk_full" if error.errno in _NO_ROOM else "memory_unreachable"
    if type(error).__module__.startswith("psycopg"):  # does not import psycopg when SQLite is used
        return _of_postgres(error)
    return None


def _of_sqlite(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # raised by the sqlite3 module itself, for instance on a closed connection
        known = next((codes for word, codes in _WORDS.items() if word in str(error)), frozenset())
        code = next(iter(known), sqlite3.SQLITE_CANTOPEN)
    primary = code & _PRIMARY
    if primary in _LOCKED:
        return "memory_locked"
    if primary == sqlite3.SQLITE_FULL or code == sqlite3.SQLITE_IOERR_SHMSIZE:  # no room for the index of the journal
        return "disk_full"
    is_foreign = primary == sqlite3.SQLITE_ERROR  # a missing table or column: another program's database
    if primary in _BROKEN or is_foreign or not isinstance(error, sqlite3.OperationalError | sqlite3.InterfaceError):
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
        return MemoryFailureError(
            "disk_full", f"There is no room to write {place}.", hint="Make room, or delete a conversation."
        )
    if code == "memory_broken":
        hint = "Move it away, or name another, to start afresh; its conversations stay in it."
        return MemoryFailureError("memory_broken", f"{place} is damaged or no database of askbook.", hint=hint)
    hint = "Check ASKBOOK_HOME, ASKBOOK_DATABASE_URL and what you may write there, then try again."
    return MemoryFailureError("memory_unreachable", f"{place} cannot be opened or written.", hint=hint)
