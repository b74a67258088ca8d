"""Every failure of a database has a name, says what to do, and lets no foreign text through."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator

import psycopg
import psycopg_pool
import pytest

from graph.memory_errors import memory_failure
from graph.storage import border
from rag.errors import MemoryFailureError
from tests.manual import section

SECRET = "canary of a foreign text"


def family(of: type[BaseException]) -> Iterator[type[BaseException]]:
    yield of
    for one in of.__subclasses__():
        yield from family(one)


@pytest.mark.parametrize("root", [sqlite3.Error, psycopg.Error, PermissionError, FileNotFoundError, IsADirectoryError])
def test_every_exception_of_a_database_has_a_name_and_says_what_to_do(root: type[BaseException]) -> None:
    codes = section("errors.md", "memory_error").first_cells()
    for kind in family(root):
        failure = memory_failure(kind(SECRET), "the file")
        assert failure is not None, kind
        assert failure.error_type == "memory_error"
        assert failure.code in codes
        assert failure.hint
        assert SECRET not in failure.message + failure.hint


def test_the_exceptions_of_the_pool_are_among_them() -> None:
    kinds = [kind for kind in vars(psycopg_pool).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert kinds
    assert set(kinds) <= set(family(psycopg.Error))


@pytest.mark.parametrize("failure", [ValueError(SECRET), KeyError(SECRET), MemoryError(), psycopg.Warning(SECRET)])
def test_what_is_no_failure_of_a_database_keeps_its_own_name(failure: BaseException) -> None:
    assert memory_failure(failure, "the file") is None


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (psycopg.errors.DiskFull(), "disk_full"),
        (OSError(errno.ENOSPC, SECRET), "disk_full"),
        (OSError(errno.EDQUOT, SECRET), "disk_full"),
        (psycopg.errors.LockNotAvailable(), "memory_locked"),
        (psycopg.errors.DeadlockDetected(), "memory_locked"),
        (psycopg.errors.UndefinedTable(), "memory_broken"),
        (psycopg.errors.DataCorrupted(), "memory_broken"),
        (psycopg.errors.InsufficientPrivilege(), "memory_unreachable"),
        (psycopg.errors.InvalidSchemaName(), "memory_unreachable"),
        (psycopg.errors.ReadOnlySqlTransaction(), "memory_unreachable"),
        (psycopg.OperationalError(), "memory_unreachable"),
        (psycopg_pool.PoolTimeout(), "memory_unreachable"),
        (sqlite3.ProgrammingError("Cannot operate on a closed database."), "memory_broken"),
    ],
)
def test_a_failure_is_named_after_what_it_means(failure: Exception, code: str) -> None:
    found = memory_failure(failure, "the file")
    assert found is not None
    assert found.code == code


def test_what_a_failure_came_from_is_looked_at() -> None:
    error = ValueError("Error executing GET query")
    error.__cause__ = sqlite3.OperationalError("database is locked")
    found = memory_failure(error, "the file")
    assert found is not None
    assert found.code == "memory_locked"


def test_no_foreign_text_hangs_on_what_passes_the_border() -> None:
    with pytest.raises(MemoryFailureError) as caught, border("the file"):
        raise sqlite3.OperationalError(SECRET)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
