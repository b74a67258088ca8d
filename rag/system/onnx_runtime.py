"""onnxruntime, which runs the embedding model and a judge inside the process."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from typing import Any


def onnx_runtime() -> Any:
    """Load onnxruntime with its telemetry turned off.

    The variable is read once, when the library is loaded. Without it the library writes a device id and a store of
    events to the user's cache folder, and knows an address to send them to. A value set by the user is kept.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def give_back_memory() -> None:
    """Have the C library return unused memory to the system. It keeps that otherwise; does nothing without glibc."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
