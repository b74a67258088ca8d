"""Functions that a process which reads files calls in its tests. It would import a test file with all of pytest."""

from __future__ import annotations

import os
import signal
import sys
import time

from rag.ingest.formats import reader_process


def process_id(raw: bytes) -> int:
    return os.getpid()


def printed(raw: bytes) -> str:
    os.write(1, b"noise")
    return raw.decode()


def most_memory(raw: bytes) -> int:
    return reader_process._memory()


def killed(raw: bytes) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def too_large(raw: bytes) -> int:
    raise MemoryError


def mistaken(raw: bytes) -> int:
    return raw[len(raw)]


def too_deep(raw: bytes) -> int:
    return too_deep(raw)


def greedy(raw: bytes) -> int:
    return len(b"a" * (reader_process.KEPT_MEMORY + 2**20))


def endless(raw: bytes) -> None:
    while True:
        time.sleep(1)


def environment(raw: bytes) -> dict[str, str]:
    return dict(os.environ)


def modules(raw: bytes) -> list[str]:
    return [*sys.modules]
