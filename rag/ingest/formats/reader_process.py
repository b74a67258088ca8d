"""A process of its own that reads files, for formats in which a small file can cost much time or memory.

It has limits of time and memory and no keys, so a hostile file harms only its own reading. Starting it costs half a
second, so it reads one file after the other, until one breaks it or it has waited for a while.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import select
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from dataclasses import asdict, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

MEMORY: Final = 3 * 2**30  # bytes
CPU_SECONDS: Final = 200  # for one file, in case that nobody is left who would end the process
KEPT_MEMORY: Final = 2**29  # bytes; a process that needed more for a file ends after it
IDLE: Final = 10.0  # seconds after which a waiting process is no longer used
ORPHANED: Final = 3 * IDLE  # seconds after which a waiting process ends itself
BUG: Final = "askbook failed at it ({}); please report it with the file"  # with the name of the exception
_CHILD: Final = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {} import main; main()"


class FileReader:
    """Has functions read files in a process that is kept between them. It serves one thread at a time."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._used = 0.0

    def read(self, module: str, function: str, raw: bytes, *, seconds: float) -> Any:
        """The result of a function for the bytes of a file; a dataclass becomes a mapping.

        Raises `ValueError` with the reason of the function, or if it takes longer than so many seconds or breaks.
        """
        with self._guard:
            if self._process is not None and (time.monotonic() - self._used > IDLE or self._process.poll() is not None):
                self.close()
            kept = False
            try:
                answer = self._answer(module, function, raw, seconds)
                kept = bool(answer["goes_on"])
            finally:  # after Ctrl-C too, when the answer may still come
                self._used = time.monotonic()
                if not kept:
                    self.close()
        if "reason" in answer:
            raise ValueError(answer["reason"])
        return answer["found"]

    def _answer(self, module: str, function: str, raw: bytes, seconds: float) -> dict[str, Any]:
        process = self._process or self._start()
        files, answers = cast("BinaryIO", process.stdin), cast("BinaryIO", process.stdout)
        clock = threading.Timer(seconds, process.kill)
        clock.daemon = True
        begin = time.monotonic()
        clock.start()
        try:
            files.write(json.dumps([module, function, len(raw)]).encode() + b"\n" + raw)
            files.flush()
            answer: dict[str, Any] = json.loads(answers.readline())
        except (OSError, ValueError):
            if time.monotonic() - begin >= seconds:
                raise ValueError(f"reading it takes longer than {seconds:.0f} seconds") from None
            raise ValueError("it is broken, or reading it takes too much time or memory") from None
        finally:
            clock.cancel()
            clock.join()  # it may be ending the process at this moment
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-I", "-c", _CHILD.format(__name__), json.dumps(sys.path)]
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env={})
        except OSError as error:
            raise ValueError(f"no process can be started to read it ({error.strerror})") from None
        atexit.register(self.close)
        return self._process

    def close(self) -> None:
        """End the process, whatever it does."""
        process, self._process = self._process, None
        if process is None:
            return
        atexit.unregister(self.close)
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):  # what could not be written any more
                    stream.close()
        process.wait()


_SHARED: Final = FileReader()


def read_apart(module: str, function: str, raw: bytes, *, seconds: float, alone: bool = False) -> Any:
    """`FileReader.read` by the process that all files share, or by one that reads only this file."""
    if not alone:
        return _SHARED.read(module, function, raw, seconds=seconds)
    with closing(FileReader()) as reader:
        return reader.read(module, function, raw, seconds=seconds)


def main() -> None:
    """Read the files that come on the standard input, and print what is made of each as a line of JSON."""
    with suppress(ValueError, OSError):  # a system that does not know the limit
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    files, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    goes_on = True
    while goes_on and (request := _request(files)):
        module, function, size = json.loads(request)
        answer = _read(module, function, files.read(size))
        goes_on = answer["goes_on"] = answer.get("goes_on", True) and _memory() < KEPT_MEMORY
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _request(files: BinaryIO) -> bytes:
    """The next request; empty if nobody asks any more. Nothing is buffered: each is answered before the next comes."""
    return files.readline() if select.select([files], [], [], ORPHANED)[0] else b""


def _read(module: str, function: str, raw: bytes) -> dict[str, Any]:
    with suppress(ValueError, OSError):
        most = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + CPU_SECONDS, most))
    try:
        found = getattr(import_module(module), function)(raw)
        return {"found": [_plain(one) for one in found] if isinstance(found, list) else _plain(found)}
    except ValueError as error:
        return {"reason": str(error)}
    except RecursionError:
        return {"reason": "it is nested too deeply; take some of its levels apart"}
    except MemoryError:
        return {"reason": "reading it takes too much memory", "goes_on": False}
    except Exception as error:
        return {"reason": BUG.format(type(error).__name__)}


def _plain(found: Any) -> Any:
    return asdict(found) if is_dataclass(found) and not isinstance(found, type) else found


def _memory() -> int:
    """The most bytes that this process has had in memory. On Linux `getrusage` counts those of the parent too."""
    with suppress(OSError), Path("/proc/self/status").open("rb") as status:
        for line in status:
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
