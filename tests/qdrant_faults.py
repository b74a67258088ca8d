"""Every way in which a Qdrant server fails over HTTP, and what is made of it. What it sends repeats a key."""

from __future__ import annotations

import json
from typing import Final

from tests.qdrant_server import ok, refused
from tests.search_faults import ATTEMPTS, Fault
from tests.wire import Reply, cut_off, drops, hangs, html, malformed

CANARY: Final = "qdrant-canary-4711"
FAULTS: Final = {
    "401": Fault(refused(401, CANARY), "index_auth", error_type="auth_error"),
    "403": Fault(Reply(status=403, body=f"Forbidden: {CANARY}"), "index_auth", error_type="auth_error"),
    "404 collection missing": Fault(refused(404, f"Not found: Collection `{CANARY}` doesn't exist!"), "no_index"),
    "404 of a proxy": Fault(html(404), "index_response"),
    "408": Fault(refused(408, CANARY), "index_timeout", ATTEMPTS),
    "409": Fault(refused(409, CANARY), "index_request"),
    "413": Fault(refused(413, CANARY), "index_request"),
    "422": Fault(refused(422, CANARY), "index_request"),
    "429": Fault(refused(429, CANARY), "index_rate_limit", ATTEMPTS, "rate_limit", 10),
    "429 with its seconds": Fault(refused(429, CANARY, retry_after="7"), "index_rate_limit", ATTEMPTS, "rate_limit", 7),
    "500": Fault(refused(500, CANARY), "index_server", ATTEMPTS),
    "503": Fault(Reply(status=503, body=CANARY), "index_server", ATTEMPTS),
    "hang": Fault(hangs(), "index_timeout", ATTEMPTS),
    "dropped": Fault(drops(), "index_unreachable", ATTEMPTS),
    "cut off": Fault(cut_off(f'{{"result": "{CANARY}'), "index_unreachable", ATTEMPTS),
    "malformed": Fault(malformed(), "index_response"),
    "another shape": Fault(ok({"note": CANARY}), "index_response"),
    "no shape at all": Fault(Reply(body=json.dumps([CANARY])), "index_response"),
    "wrong dimension": Fault(
        refused(400, f"Wrong input: Vector dimension error: expected dim: 4, got 384 {CANARY}"), "embedding_mismatch"
    ),
}
