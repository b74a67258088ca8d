"""Addresses in a text: found in any disguise, compared, and written so that they are safe in Markdown."""

from __future__ import annotations

import re
import unicodedata
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from rag.text.visible import visible

# A name that ends in one of these is an address without a scheme, since chat clients turn it into a link. Endings that
# files share (.md, .py, .rs, .sh) are missing.
_TOP: Final = (
    "com|org|net|edu|gov|info|biz|io|ai|app|dev|xyz|site|online|shop|store|club|top|link|live|icu|tech|cloud|space|"
    "website|page|fun|vip|win|work|ru|cn|uk|de|fr|eu|us|ca|jp|br|in|co|tv|gg|ly|to|me|pl|nl|ch|se|kr|pro|mobi|museum|"
    "name|zip|mov|рф|рус|укр|бел|中国|xn--[a-z0-9-]{2,59}|example|test|invalid|onion"
)
_SIGN: Final = r"[^\s<>\"`\[\]|“”]"
_ADDRESS: Final = re.compile(
    rf"(?<![\w+.-])(?:[a-z][a-z0-9+.-]{{1,15}}://|(?:mailto|javascript|data|tel|sms|magnet):(?=[\w+?])|www\.){_SIGN}{{1,2000}}"
    r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"
    rf"|(?<![\w.@/-])(?:[\w-]{{1,63}}\.){{1,99}}(?:{_TOP})(?![\w-]|\.\w)(?::\d{{1,5}})?(?:[/?#]{_SIGN}{{0,2000}})?",
    re.IGNORECASE,
)
_COMMON_TOP: Final = r"(?=(?:com|org|net|info|io|shop|example|dev|app|co|de|fr|ru|cn)\b)"
_DISGUISES: Final = (
    (re.compile(r"\\(?=[^\w\s])|[*`]"), ""),  # `evil\.com`, `evil**.**com`
    (re.compile(r"(?<=\w)[。｡․•·∙⋅・‧](?=[A-Za-z])"), "."),
    (re.compile(r"(?<=\w) ?[\[({<] ?(?:\.|dot|punkt|punto|point) ?[\])}>] ?(?=\w)", re.IGNORECASE), "."),
    (re.compile(rf"(?<=\w) (?:dot|\.) ?{_COMMON_TOP}", re.IGNORECASE), "."),
    (re.compile(r"(?<=\w) ?[\[({<] ?at ?[\])}>] ?(?=\w)", re.IGNORECASE), "@"),
    (re.compile(r"\bh ?[tx] ?[tx] ?p(?: ?s)? ?: ?/ ?/ ?", re.IGNORECASE), "http://"),
)
_MARKUP_SIGN: Final = re.compile(r"[\s<>\[\]\\\"'`|]")
_WEB_HOST: Final = re.compile(r"https?://[\w.:\[\]-]+", re.IGNORECASE)


def addresses_in(text: str) -> list[str]:
    """The addresses in a text as written: with a scheme, of mail, and host names without a scheme."""
    return [trimmed(match[0]) for match in _ADDRESS.finditer(text)]


def undisguised(text: str) -> str:
    """The text with its addresses in plain letters.

    >>> undisguised("evil[.]com, ｅｖｉｌ．com, evil dot com, hxxps://evil.com")
    'evil.com, evil.com, evil.com, http://evil.com'
    """
    plain = unicodedata.normalize("NFKC", visible(text))
    for disguise, sign in _DISGUISES:
        plain = disguise.sub(sign, plain)
    return plain


def trimmed(url: str) -> str:
    """The address without the punctuation after it; a closing parenthesis stays if the address has its opening."""
    end, extra = len(url), url.count(")") - url.count("(")
    while end:
        last = url[end - 1]
        if last == ")" and extra > 0:
            extra -= 1
        elif last not in ".,;:!?'*_~\\{}。，、）】」’…":
            break
        end -= 1
    return url[:end]


def same_address(url: str) -> str:
    """The form by which addresses are compared: unquoted, without scheme, `www.` and trailing slash."""
    bare = re.sub(r"^(?:[a-z]+://|mailto:)", "", unquote(url.strip().strip("<>").replace("\\", "")).casefold())
    return bare.removeprefix("www.").rstrip("/")


def plain_address(url: str) -> str:
    """The address of a passage as it may stand in Markdown, as text or as the target of a link.

    Signs that would begin a link, a tag or code are percent-encoded, hidden characters are removed, and only a web
    address keeps its scheme, so a file's name cannot run a script.

    >>> [plain_address(url) for url in ("a/b.md#c", "[x](javascript:alert(1)).md", "javascript:alert(1).md")]
    ['a/b.md#c', '%5Bx%5D(javascript:alert(1)).md', 'javascript%3Aalert(1).md']
    """
    text = visible(url.strip())
    try:
        scheme = urlsplit(text).scheme.lower()
    except ValueError:
        scheme = "unreadable"
    if scheme not in ("", "http", "https"):
        text = text.replace(":", "%3A")
    host = _WEB_HOST.match(text)
    at = host.end() if host else 0  # the brackets of http://[::1]/ stay
    text = text[:at] + _MARKUP_SIGN.sub(lambda sign: quote(sign[0], safe=""), text[at:])
    if text.count("(") != text.count(")") or text.find(")") < text.find("("):
        text = text.replace("(", "%28").replace(")", "%29")
    return text
