"""Checks of the addresses and keys of hosted models, before anything is sent."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from rag.errors import UsageError

_KEY: Final = re.compile(r"[\x21-\x7e]+")
_SPACE: Final = re.compile(r"[\s\x00-\x1f\x7f]")


def checked_address(variable: str, address: str) -> str:
    """The address in a variable. Raises `UsageError`, which does not repeat it, since it may hold a password."""
    if not address.startswith(("http://", "https://")):
        raise UsageError(f"{variable} must start with http:// or https://.", code="settings")
    try:
        parts = urlsplit(address)
        whole = bool(parts.hostname) and parts.port != 0  # `port` raises for one that is not a number up to 65535
    except ValueError:
        whole = False
    if not whole or _SPACE.search(address):
        hint = "Give one such as https://api.openai.com/v1."
        raise UsageError(f"{variable} is not a web address.", code="settings", hint=hint)
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
