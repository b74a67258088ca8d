"""Addresses in text: found in whatever form they are written, compared, and made safe to write into Markdown.

No address reaches a reader because a model wrote it. One is kept where the passage that the sentence cites has it.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote, urlsplit

from rag.answers.orders import without_orders

URL: Final = r"[^\s<>\"`\[\]|“”]"  # a character of an address; the backslash too, which browsers read as a slash
# Names without a scheme count as addresses where they end in one of these, since programs make links of them. Endings
# that files have too (.md, .py, .rs, .sh) are not among them.
_ENDINGS: Final = (
    "com|org|net|edu|gov|info|biz|io|ai|app|dev|xyz|site|online|shop|store|club|top|link|live|icu|tech|cloud|space|"
    "website|page|fun|vip|win|work|ru|cn|uk|de|fr|eu|us|ca|jp|br|in|co|tv|gg|ly|to|me|pl|nl|ch|se|kr|pro|mobi|museum|"
    r"name|zip|mov|рф|рус|укр|бел|中国|xn--[a-z0-9-]{2,59}|example|test|invalid|onion"
)
_BARE: Final = re.compile(
    rf"[.．｡](?:{_ENDINGS})(?![A-Za-z0-9_-]|\.[A-Za-z0-9])(?::\d{{1,5}})?(?:[/?#]{URL}{{0,500}})?"
    r"|@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}",
    re.IGNORECASE,
)
_NAME: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]{1,15}:[/\\]{0,3}|//)?[\w.+%@-]{0,200}[\w-]$")
_ADDRESS: Final = re.compile(rf"(?:https?://|ftp://|www\.|mailto:){URL}{{1,2000}}", re.IGNORECASE)
_DESTINATION: Final = re.compile(r"\]\([ \t]{0,3}<?([^\s()<>]{1,2000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,200}){0,3})")


def bare_names(text: str) -> list[tuple[int, int]]:
    """Spans of host names and mail addresses without a scheme, such as `shop.example.com/x`, in order."""
    spans: list[tuple[int, int]] = []
    for match in _BARE.finditer(text):
        begin = spans[-1][1] if spans else 0
        if spans and match.start() == begin:  # one word with the address before it
            spans[-1] = (spans[-1][0], begin + len(trimmed(match[0])))
            continue
        name = _NAME.search(text[max(begin, match.start() - 201) : match.start()])
        if name and (match[0][0] == "@" or re.search(r"[^\W\d_]", name[0])):
            start = match.start() - len(name[0])
            spans.append((start, start + len(trimmed(text[start : match.end()]))))
    return spans


def trimmed(url: str) -> str:
    """The address without the punctuation of the sentence behind it; a closing parenthesis stays with its opening."""
    while url:
        last = url[-1]
        if last in ".,;:!?'*_~\\{}。，、）】」’…" or (last == ")" and url.count(")") > url.count("(")):
            url = url[:-1]
        else:
            break
    return url


def same_address(url: str) -> str:
    """A form in which addresses are compared: unquoted, without scheme, `www.` and a slash at the end."""
    plain = re.sub(r"\\([_*~])", r"\1", url.strip().strip("<>"))  # escapes of Markdown
    bare = re.sub(r"^(?:[a-z]+://|mailto:)", "", unquote(plain).casefold())
    return bare.removeprefix("www.").rstrip("/")


def addresses_in(text: str) -> frozenset[str]:
    """Every address that the text states, in the form of `same_address`; not those in orders to a reader of it."""
    text = without_orders(text)
    links = [match[1] for match in _DESTINATION.finditer(text)]
    return frozenset(map(same_address, written_addresses(text) + links))


def written_addresses(text: str) -> list[str]:
    """The addresses in the text as they are written, code or not, the longest first."""
    found = [trimmed(match[0]) for match in _ADDRESS.finditer(text)]
    found += [text[start:end] for start, end in bare_names(text)]
    return sorted(set(found), key=len, reverse=True)


def safe_address(url: str) -> str:
    """An address to write behind a link's words: nothing in it ends the link, and no scheme of it runs a program."""
    text = re.sub(r"\s", "%20", url.strip())
    for sign in "<>\\\"'`":
        text = text.replace(sign, f"%{ord(sign):02X}")
    if text.count("(") != text.count(")") or text.find(")") < text.find("("):
        text = text.replace("(", "%28").replace(")", "%29")
    return text if _scheme(text) in ("", "http", "https") else "#"


def _scheme(url: str) -> str:
    try:
        return urlsplit(url).scheme.lower()
    except ValueError:
        return "unreadable"
