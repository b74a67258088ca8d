"""Turn the exceptions of SQLite and PostgreSQL into `MemoryFailureError`, with a hint what to do.

The text of a database exception is never passed on: it may hold a password or the words of a conversation.
"""

from __future__ import annotations

import errno
import re
import sqlite3
from collections.abc import Iterator
from typing import Final, NamedTuple

from rag.errors import MemoryFailureError

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


class _Reason(NamedTuple):
    what: str
    to_do: str


_NO_ANSWER: Final = _Reason("does not answer", "Check that the server is running and not overloaded, then try again.")
_FULL: Final = _Reason("has no connection left", "Close other programs that use it, or raise max_connections.")
_NO_DATABASE: Final = _Reason("does not exist", "Create it, or correct the name in ASKBOOK_DATABASE_URL.")
_NO_ROLE: Final = _Reason("refuses the role or its password", "Correct them in ASKBOOK_DATABASE_URL.")
_UNREACHED: Final = _Reason(
    "cannot be reached", "Check the address in ASKBOOK_DATABASE_URL, and that the server is running."
)
_READ_ONLY: Final = _Reason("allows only reading", "Set ASKBOOK_DATABASE_URL to a database that can be written.")
_NO_RIGHT: Final = _Reason("denies the role a right that askbook needs", "Let the role create, read and write tables.")
_REASONS: Final = {
    "53300": _FULL,
    "3D000": _NO_DATABASE,
    "28": _NO_ROLE,
    "25006": _READ_ONLY,
    "42501": _NO_RIGHT,
    "3F": _NO_RIGHT,
    "57P": _UNREACHED,  # the server is starting or shutting down
}
# A refused connection has no SQLSTATE, only the server's text, which is matched here and never passed on.
_REFUSALS: Final = {
    "too many": _FULL,
    "connection slots": _FULL,
    'database ".*" does not exist': _NO_DATABASE,
    'role ".*" does not exist': _NO_ROLE,
    "authentication failed": _NO_ROLE,
    "permission denied": _NO_RIGHT,
}


def memory_failure(error: BaseException, place: str) -> MemoryFailureError | None:
    """The `MemoryFailureError` for an exception, or None when no database failure is in its chain.

    A library may wrap the database's exception, or raise another one after it, so the whole chain is examined.
    """
    code = next((code for cause in _chain(error) if (code := _code(cause))), None)
    if code == "memory_unreachable":
        reason = next((reason for cause in _chain(error) if (reason := _reason(cause))), None)
        if reason:
            return MemoryFailureError(code, f"{_subject(place)} {reason.what}.", hint=reason.to_do)
    return _failure(code, place) if code else None


def broken_conversation(thread_id: str, place: str) -> MemoryFailureError:
    """The error for a conversation whose stored data cannot be read."""
    return MemoryFailureError(
        "conversation_broken",
        f'The conversation "{thread_id}" in {place} is damaged and cannot be read.',
        hint="Other conversations are not affected. Restore a backup, or delete this conversation.",
    )


class NoAnswerError(OSError):
    """A database that accepted a request did not answer it in time."""


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


def _reason(error: BaseException) -> _Reason | None:
    """Why a database could not be used, if the exception says."""
    if isinstance(error, NoAnswerError) or type(error).__name__ == "ConnectionTimeout":
        return _NO_ANSWER
    if not type(error).__module__.startswith("psycopg"):
        return None
    state = getattr(error, "sqlstate", None) or ""
    if known := _REASONS.get(state) or _REASONS.get(state[:3]) or _REASONS.get(state[:2]):
        return known
    # Without an SQLSTATE and without a known text, no server was there: a wrong port, an unknown host.
    refused = next((found for text, found in _REFUSALS.items() if re.search(text, str(error))), None)
    return refused or (None if state else _UNREACHED)


def _subject(place: str) -> str:
    """The place at the beginning of a sentence. A path stays as it is."""
    return f"T{place[1:]}" if place.startswith("the ") else place


def _failure(code: str, place: str) -> MemoryFailureError:
    if code == "memory_locked":
        return MemoryFailureError(
            "memory_locked", f"{_subject(place)} is locked by another process.", hint="Try again."
        )
    if code == "disk_full":
        return MemoryFailureError(
            "disk_full", f"The disk is full; {place} was not written.", hint="Free disk space, then try again."
        )
    if code == "memory_broken":
        hint = "To start afresh, move the database away or use another one. Its conversations stay in it."
        return MemoryFailureError(
            "memory_broken", f"{_subject(place)} is damaged or was not made by askbook.", hint=hint
        )
    hint = "Check ASKBOOK_HOME, ASKBOOK_DATABASE_URL and your write permissions, then try again."
    return MemoryFailureError("memory_unreachable", f"{_subject(place)} cannot be opened or written.", hint=hint)
