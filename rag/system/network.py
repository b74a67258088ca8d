"""Addresses, keys, and what the environment says about the way to a service: its proxy and its certificates.

Clients read proxies when they are made, and one that is wrong makes them fail, even where NO_PROXY excepts the address.
So the proxy of an address is chosen here, when the first request is sent.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from rag.errors import UsageError

if TYPE_CHECKING:
    import ssl

    from pydantic import SecretStr

OPENAI: Final = "https://api.openai.com/v1"
_KEY: Final = re.compile(r"[\x21-\x7e]+")
_SPACE: Final = re.compile(r"[\s\x00-\x1f\x7f]")
_CERTIFICATES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_SOCKS: Final = frozenset({"socks5", "socks5h"})
_PROXY_FORM: Final = "Set it to an address such as http://proxy.example:3128, or unset it."


# What is set here, an empty list, gets a True when a stream that is read in this context says that it is done.
done: ContextVar[list[bool] | None] = ContextVar("done", default=None)


class NetworkSettingError(Exception):
    """A variable that sets the network cannot be used: `message` names it, `hint` says what to do."""

    def __init__(self, variable: str, what: str, hint: str) -> None:
        super().__init__(f"{variable} {what}.")
        self.message = f"{variable} {what}."
        self.hint = hint

    def usage_error(self) -> UsageError:
        """The error of a command, outside a turn."""
        return UsageError(self.message, code="network", hint=self.hint)


def checked_address(variable: str, address: str) -> str:
    """The address in a variable. Raises `UsageError`, which does not repeat it, since it may hold a password."""
    if not address.startswith(("http://", "https://")):
        raise UsageError(f"{variable} must start with http:// or https://.", code="settings")
    if not _is_whole(address):
        hint = f"Give one such as {OPENAI}."
        raise UsageError(f"{variable} is not a web address.", code="settings", hint=hint)
    parts = urlsplit(address)
    if parts.query or parts.fragment or address.endswith("?"):
        mark = "?" if "?" in address else "#"
        hint = "Leave that part out. For Azure OpenAI, https://NAME.openai.azure.com/openai/v1/ needs no api-version."
        raise UsageError(
            f'{variable} has a "{mark}", and askbook cannot send what follows it.', code="settings", hint=hint
        )
    return address


def checked_key(variable: str, key: SecretStr) -> SecretStr:
    """The key in a variable. Raises `UsageError`, which does not show it, for one that cannot be sent."""
    if not _KEY.fullmatch(key.get_secret_value()):
        hint = "Copy the whole key, without spaces, quotation marks or line breaks."
        raise UsageError(f"{variable} has a character that no key has.", code="key_form", hint=hint)
    return key


def proxy_of(address: str) -> str | None:
    """The proxy for an address, of the environment; None without one, and for what NO_PROXY excepts.

    Raises `NetworkSettingError` for a proxy that cannot be used.
    """
    from urllib.request import proxy_bypass  # it loads much

    variable, proxy = _proxy_variable(urlsplit(address).scheme)
    if not proxy or proxy_bypass(urlsplit(address).netloc.rpartition("@")[2]):
        return None
    if problem := _proxy_problem(proxy):
        raise NetworkSettingError(variable, *problem)
    return proxy if "://" in proxy else f"http://{proxy}"


@cache
def trusted_certificates(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """The certificates that SSL_CERT_FILE and SSL_CERT_DIR name, else those of `certifi`.

    Reading them takes longer than everything else in a client, so all clients share them.
    """
    import ssl

    import certifi

    if _file or _folder:
        return ssl.create_default_context(cafile=_file or None, capath=_folder or None)
    return ssl.create_default_context(cafile=certifi.where())


def certificates() -> ssl.SSLContext:
    """The certificates that clients trust. Raises `NetworkSettingError` for a file that cannot be used."""
    file, folder = (os.environ.get(name) for name in _CERTIFICATES)
    try:
        return trusted_certificates(file, folder)
    except OSError as error:  # `ssl.SSLError` is one
        name = _CERTIFICATES[0] if file else _CERTIFICATES[1]
        reason = "does not exist" if isinstance(error, FileNotFoundError) else "holds no certificates"
        raise NetworkSettingError(name, f"names a path that {reason}", "Correct the path, or unset it.") from None


def faults() -> Iterator[NetworkSettingError]:
    """What of the environment would stop a connection, one for each variable."""
    for variable, proxy in dict(map(_proxy_variable, ("http", "https"))).items():
        if proxy and (problem := _proxy_problem(proxy)):
            yield NetworkSettingError(variable, *problem)
    for name in _CERTIFICATES:
        path = os.environ.get(name)
        if path and not Path(path).exists():
            yield NetworkSettingError(name, "names a path that does not exist", "Correct the path, or unset it.")


def fault_of(chain: Collection[BaseException]) -> NetworkSettingError | None:
    """The variable because of which a client could not be made or did not connect, from its exception and the causes.

    Libraries that read the environment themselves raise a built-in exception then.
    """
    for failure in chain:
        if isinstance(failure, NetworkSettingError):
            return failure
    if any(isinstance(one, ValueError | ImportError | OSError) or type(one).__name__ in _RAISED for one in chain):
        return next(faults(), None)
    return None


_RAISED: Final = frozenset({"InvalidURL", "ConnectError", "ProxyError", "UnsupportedProtocol"})


def proxies_in_use() -> str:
    """The names of the variables that set a proxy, for hints; empty without one."""
    return " and ".join(dict(found for found in map(_proxy_variable, ("https", "http")) if found[1]))


def _proxy_variable(scheme: str) -> tuple[str, str]:
    """The variable that sets the proxy for addresses of a scheme, and its value; empty texts if there is none."""
    for name in (f"{scheme}_proxy", "all_proxy"):
        for spelled in (name, name.upper()):
            if value := os.environ.get(spelled):
                return spelled, value
    return "", ""


def _proxy_problem(proxy: str) -> tuple[str, str] | None:
    """What is wrong with a proxy, and what to do; None if nothing is."""
    scheme, separator, _ = proxy.partition("://")
    if separator and scheme not in ("http", "https", *_SOCKS):
        hint = "Write socks5:// in place of socks://, or unset it." if scheme == "socks" else _PROXY_FORM
        return f"has the scheme {scheme[:20]}://, which no client knows", hint
    if not _is_whole(proxy if separator else f"http://{proxy}"):
        return "is not the address of a proxy", _PROXY_FORM
    if scheme in _SOCKS and find_spec("socksio") is None:
        return "names a SOCKS proxy, which needs the package socksio", "Run pip install socksio, or unset it."
    return None


def _is_whole(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and parts.port != 0 and not _SPACE.search(address)
    except ValueError:  # `port` raises it for one that is not a number up to 65535
        return False
