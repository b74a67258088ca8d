"""A process of its own that reads one file, for formats in which a small file can cost much time or memory.

The process has a time limit, a memory limit and no keys, so a hostile file harms only its own reading. It costs about
half a second, mostly for importing the libraries.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from typing import Any, Final

from rag.ingest.formats.file_format import LoadedText

MEMORY: Final = 3 * 2**30  # bytes
CPU_SECONDS: Final = 200
_CHILD: Final = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {} import main; main(*sys.argv[2:])"


def read_apart(module: str, function: str, raw: bytes, *, seconds: float) -> list[LoadedText]:
    """Call a function with the bytes of a file in a process of its own, and return its result.

    Raises `ValueError` with the reason of the function, or if it takes longer than so many seconds or breaks.
    """
    command = [sys.executable, "-I", "-c", _CHILD.format(__name__), json.dumps(sys.path), module, function]
    try:
        done = subprocess.run(command, input=raw, capture_output=True, timeout=seconds, env={}, check=False)
        found = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise ValueError(f"reading it takes longer than {seconds:.0f} seconds") from None
    except (OSError, ValueError):
        raise ValueError("it is broken, or reading it takes too much time or memory") from None
    if isinstance(found, str):
        raise ValueError(found)
    return [_loaded(text) for text in found]


def main(module: str, function: str) -> None:
    """Read the file from the standard input and print its texts as JSON, or a string with the reason why not."""
    for limit, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, CPU_SECONDS)):
        with suppress(ValueError, OSError):  # a system that does not know the limit
            resource.setrlimit(limit, (most, most))
    found: Any
    try:
        texts = getattr(import_module(module), function)(sys.stdin.buffer.read())
        found = [{**asdict(text), "fields": dict(text.fields)} for text in texts]
    except ValueError as error:
        found = str(error)
    except RecursionError:
        found = "it is nested too deeply"
    except MemoryError:
        found = "reading it takes too much memory"
    sys.stdout.write(json.dumps(found))


def _loaded(text: dict[str, Any]) -> LoadedText:
    """A text as it was before it became JSON, which knows no tuples."""
    return LoadedText(**{**text, "above": tuple(text["above"]), "page_lines": tuple(text["page_lines"])})
