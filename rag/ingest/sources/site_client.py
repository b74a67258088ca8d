"""Requests to one site, with limits of size and time, and never to an unexpected private address.

A name can resolve to another address when it is used than when it is checked (DNS rebinding). So each request resolves
the name once, checks every address, and connects to one of those.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urljoin, urlsplit, urlunsplit

from rag.private_apis import limit_exchanges
from rag.system.network import NetworkSettingError, certificates

if TYPE_CHECKING:
    import httpx

AGENT: Final = "askbook"
LARGEST: Final = 10_000_000  # bytes of one page, unpacked
SECONDS: Final = 60.0  # for one page, however slowly its bytes arrive
SILENCE: Final = 20.0  # seconds without a byte
REDIRECTS: Final = 5
LONGEST_WAIT: Final = 30.0  # seconds that a busy site may ask to wait
_MOVED: Final = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Fetched:
    """A response: its final address, its status, the kind of its content and the unpacked bytes."""

    url: str
    status: int
    kind: str
    body: bytes


class SiteClient:
    """Fetches pages. Only `private_host` may have private addresses.

    Requests begin at least `delay` seconds apart; with one `at_once`, the delay counts from the end of the one before.
    The caller must not ask for more at once than that.
    """

    def __init__(self, *, private_host: str = "", delay: float = 0.0) -> None:
        import httpx

        self.delay = delay
        self.private_host = private_host
        self.at_once = 1
        self._next = 0.0  # when the next request may begin
        self._guard = threading.Lock()
        try:
            trusted = certificates()
        except NetworkSettingError as wrong:
            raise wrong.usage_error() from None
        http = httpx.Client(
            timeout=SILENCE,
            follow_redirects=False,
            trust_env=False,  # a proxy would resolve the name itself
            verify=trusted,
            headers={"User-Agent": AGENT, "Accept": "text/html,application/xhtml+xml,*/*;q=0.5"},
        )
        self._http = limit_exchanges(http, SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def fetch(self, url: str, *, allowed: Callable[[str], bool] = lambda _: True) -> Fetched:
        """The response to a GET request, after `allowed` redirects. Raises `ValueError` if there is none."""
        import httpx

        for _ in range(REDIRECTS + 1):
            try:
                response, target = self._polite(url)
            except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
                why = " ".join(str(error).split())[:200] or type(error).__name__
                raise ValueError(f"it cannot be fetched: {why}") from error
            if not target:
                return response
            url = urljoin(url, target)
            if not allowed(url):
                return replace(response, url=url)
        raise ValueError(f"it redirects more than {REDIRECTS} times")

    def _polite(self, url: str) -> tuple[Fetched, str]:
        """One request after the delay, and another one if the site asks to come back later."""
        for attempt in (0, 1):
            time.sleep(self._turn())
            try:
                response, headers = self._request(url)
            finally:
                if self.at_once == 1:
                    self._put_off(self.delay)
            wait = headers.get("retry-after", "")
            if attempt or response.status not in (429, 503) or not wait.isdecimal() or float(wait) > LONGEST_WAIT:
                break
            self._put_off(float(wait))
        return response, headers.get("location", "") if response.status in _MOVED else ""

    def slow_down(self, delay: float) -> None:
        """Send one request at a time, at least `delay` seconds after the one before."""
        self.delay, self.at_once = max(self.delay, delay), 1
        self._put_off(self.delay)

    def _turn(self) -> float:
        """Take the next moment at which a request may begin, and return the seconds until then."""
        with self._guard:
            moment = time.monotonic()
            begin = max(moment, self._next)
            self._next = begin + self.delay
            return begin - moment

    def _put_off(self, seconds: float) -> None:
        """Delay all requests by so many seconds, except those that have their turn already."""
        with self._guard:
            self._next = max(self._next, time.monotonic() + seconds)

    def _request(self, url: str) -> tuple[Fetched, Mapping[str, str]]:
        """The response to one request, and its headers."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme not in ("http", "https") or not host:
            raise ValueError("its address is not one of the web")
        address = self._checked_address(host, parts.port or (443 if parts.scheme == "https" else 80))
        literal = f"[{address}]" if ":" in address else address
        request = self._http.build_request(
            "GET",
            urlunsplit((parts.scheme, f"{literal}:{parts.port}" if parts.port else literal, parts.path or "/", "", "")),
            headers={"Host": parts.netloc.rpartition("@")[2], "Accept-Encoding": "gzip"},
            extensions={"sni_hostname": host},  # the certificate must be that of the name
        )
        response = self._http.send(request, stream=True)
        try:
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            body = _body(response) if response.status_code == HTTPStatus.OK else b""
        finally:
            response.close()
        return Fetched(url, response.status_code, kind, body), response.headers

    def _checked_address(self, host: str, port: int) -> str:
        """One address of a host. Raises `ValueError` if any of them is private and the host is not the one given."""
        found = [str(one[4][0]) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        if host != self.private_host and not all(is_public(one) for one in found):
            raise ValueError(f"{host} has an address inside a private network")
        return found[0]


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the internet, also where it is wrapped in one of version 6."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour or (parsed.teredo or (None,))[0]
        if inner is not None and not is_public(str(inner)):
            return False
        if parsed in ipaddress.ip_network("64:ff9b::/96"):
            return is_public(str(ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)))
        if parsed.ipv4_mapped is not None:
            return True
    return parsed.is_global and not parsed.is_multicast


def private_host(url: str) -> str:
    """The host of an address if it is inside a private network, else empty. Raises `ValueError` if it is unknown."""
    host = urlsplit(url).hostname or ""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ValueError(f"the host {host} is not known") from error
    return "" if all(is_public(str(one[4][0])) for one in found) else host


def _body(response: httpx.Response) -> bytes:
    """The unpacked bytes of a response. Raises `ValueError` if they are too many."""
    pieces: list[bytes] = []
    size = 0
    for piece in response.iter_bytes(65_536):
        size += len(piece)
        if size > LARGEST:
            raise ValueError(f"it is larger than {LARGEST // 10**6} megabytes")
        pieces.append(piece)
    return b"".join(pieces)
