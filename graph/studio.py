"""`make studio`: LangGraph's development server, on this machine only, offline and without an account."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Sequence
from typing import Final

from graph.assistants import start_helper

QUIET: Final = {
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
    "LANGSMITH_TRACING": "false",
    "LANGGRAPH_STRICT_MSGPACK": "true",
}
_THEIRS: Final = {"LANGSMITH_TRACING"}  # the user may send traces; without the variable the server is offline
RUNS_AT_ONCE: Final = "10"  # the server's default is one run at a time


def main(arguments: Sequence[str] | None = None) -> int:
    """Become the server. Exit code 2 when the port is taken: the server itself would silently use another one."""
    parser = argparse.ArgumentParser(prog="make studio ARGS=", description="Start LangGraph's development server.")
    parser.add_argument("--port", type=int, default=2024, help="port on 127.0.0.1 (default: 2024)")
    port = parser.parse_args(arguments).port
    if not is_free(port):
        print(f"Port {port} is taken. Choose another port: make studio ARGS='--port {port + 1}'", file=sys.stderr)
        return 2
    print(f"LangGraph Studio's server: http://127.0.0.1:{port} (its API: /docs). Stop it with Ctrl-C.", file=sys.stderr)
    options = ["--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", str(port)]
    command = [sys.executable, "-m", "langgraph_cli", "dev", *options, "--n-jobs-per-worker", RUNS_AT_ONCE]
    start_helper(f"http://127.0.0.1:{port}")
    os.execve(
        sys.executable, command, os.environ | QUIET | {name: os.environ[name] for name in _THEIRS & os.environ.keys()}
    )
    return 0


def is_free(port: int) -> bool:
    """Whether a server can listen on the port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
