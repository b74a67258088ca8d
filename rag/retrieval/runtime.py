"""onnxruntime, loaded in one place: its builds keep usage data for their maker unless told not to."""

from __future__ import annotations

import os
from typing import Any


def onnx_runtime() -> Any:
    """The library, imported with its telemetry off.

    The variable is read once, when the library is loaded. Without it a device id and a store of events appear in the
    user's cache folder, and the library knows an address to send them to. A value that the user has set is left alone.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime
