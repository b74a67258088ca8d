"""onnxruntime, loaded in one place: its builds report usage to their maker unless they are told not to."""

from __future__ import annotations

import os
from typing import Any


def onnx_runtime() -> Any:
    """The library, imported with its telemetry off.

    The variable is read once, when the library is loaded; without it a device id is written to the user's cache
    folder and events are sent. A value that the user has set is left alone.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime
