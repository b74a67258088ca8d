"""Blocks that dialects of Markdown have, as plain Markdown. A note becomes a line with its title above its text.

These are cleaned whether or not a generator is known: `:::note`, `!!! note`, `=== "Tab"`, `/// note`, `> [!NOTE]`,
fences of notes, tags of templates, and shortcodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from rag.ingest.fences import fenced, fenced_lines, fences
from rag.ingest.spans import Span, paired

DEPTH: Final = 12  # levels of blocks inside blocks
INDENT: Final = 4  # columns by which the text of a block is indented
_COLONS: Final = re.compile(
    r"(?P<indent>[ \t]*(?:>[ \t]?)*):{3,}[ \t]*\{?(?P<kind>[A-Za-z][\w-]*)\}?[ \t]*"
    r"(?:\[(?P<label>[^\]]*)\])?[ \t]*(?:\{[^}]*\})?[ \t]*(?P<title>[^\[{].*?)?[ \t]*"
)
_COLONS_END: Final = re.compile(r"[ \t]*(?:>[ \t]?)*:{3,}[ \t]*")
_ALERT: Final = re.compile(
    r"^(?P<quote>[ \t]*(?:>[ \t]?)+)\[!(?P<kind>[A-Za-z][\w-]{0,30})\][+-]?(?P<title>[^\n]*)$", re.MULTILINE
)
_OWN_ID: Final = re.compile(r"(?<![\w=\"'])#([^\s{}#=\"']+)|\bid=[\"']?([^\s\"'{}]+)")
_HEADING_ATTRIBUTES: Final = re.compile(r"^(#{1,6}[ \t][^\n]*?)[ \t]*\{[ ]*(?=[.#])([^{}\n]*)\}[ \t]*$", re.MULTILINE)
_BLOCK: Final = re.compile(
    r"(?P<indent>[ ]*)(?:(?:!!!|\?\?\?\+?)[ ]*(?P<kinds>[\w-]+(?:[ ]+[\w-]+){0,10})?[ ]*|===[!+]{0,2}[ ]+(?=\"))"
    r"(?:\"(?P<title>[^\n]*)\")?[ ]*"
)
_SLASHES: Final = re.compile(r"(?P<indent>[ ]*)/{3,}[ ]*(?P<kind>[\w-]+)[ ]*(?:\|[ ]*(?P<title>[^\n]*?))?[ ]*")
_SLASHES_END: Final = re.compile(r"[ ]*/{3,}[ ]*")
_UNTITLED: Final = re.compile(r"html|define|caption|.*-.*")  # kinds of blocks that are no titles
_BEGINS_BLOCK: Final = re.compile(r"[ ]*(?:```|~~~|[-*+][ ]|\d+[.)][ ]|\||#|>|!!!|\?\?\?|===)")
_NOTE_FENCE: Final = re.compile(
    r"[ \t]*(?:admonish\b[ \t]*(?P<kind>[A-Za-z][\w-]*+(?!=))?[^\"]*(?:\"(?P<quoted>[^\"]*)\".*)?"
    r"|\{(?P<directive>note|tip|hint|warning|caution|danger|error|important|attention|seealso|admonition|tab-item"
    r"|tab-set|dropdown)\}[ \t]*(?P<title>.*?))[ \t]*"
)
_RAW: Final = Span(r"\{%-?[ ]*raw[ ]*-?%\}", r"\{%-?[ ]*endraw[ ]*-?%\}")
_LOOP: Final = Span(r"\{%-?[ ]*(for)\b[^%\n]{0,1000}%\}", r"\{%-?[ ]*endfor[ ]*-?%\}")
_TEMPLATE_TAG: Final = re.compile(
    r"\{%-?[ ]*(?P<name>[\w-]+)(?P<rest>(?:[^%\n]|%(?!\})){0,1000})%\}(?P<end>\n?)|\{::?[^{}\n]{0,200}/?\}\n?"
)
_TEMPLATE_TITLE: Final = re.compile(r"\b(?:title|style)=[\"']([^\"'\n]{1,200})[\"']")
_SHORTCODE: Final = re.compile(
    r"\{\{(?P<open>[<%])(?:\s*+(?P<escaped>/\*.{0,2000}?\*/)\s*+"
    r"|\s*+(?P<close>/?)\s*+(?P<name>[\w./-]{1,100}?)(?P<arguments>(?:\s[^{}]{0,4000}?)?)\s*(?P<alone>/?)\s*)"
    r"[>%]\}\}",
    re.DOTALL,
)
_ARGUMENT: Final = re.compile(
    r"(?:(?P<key>[\w-]+)=)?(?:\"(?P<double>(?:[^\"\\]|\\.)*)\"|`(?P<raw>[^`]*)`|(?P<bare>[^\s\"`=]+))"
)
_NOTES: Final = frozenset(
    {"note", "warning", "tip", "caution", "info", "important", "danger", "alert", "hint", "callout", "admonition"}
    | {"notice", "question", "success", "example", "quote", "details", "expand", "collapse", "tab", "tabitem"}
    | {"tab-item", "codetab"}
)
_CODE_TAGS: Final = frozenset({"highlight", "code", "codeblock", "code-block"})
_INCLUDE_TAGS: Final = frozenset({"include", "readfile", "include-file", "snippet", "content", "code_sample"})


def alerts(text: str) -> str:
    """Turn `> [!NOTE]`, as GitHub and Hugo write it, into the line `Note:` of the same quote."""
    return _ALERT.sub(lambda alert: alert["quote"] + titled(alert["title"].strip() or alert["kind"].capitalize()), text)


def pictured(alt: str) -> str:
    """The description of an image that stands alone, marked as such: it is no sentence of the text."""
    words = " ".join(alt.split())
    return f"Image: {words}" if words else ""


def titled(title: str) -> str:
    """A title as a line that leads in what follows."""
    return title if title[-1:] in ".!?:" else f"{title}:"


def own_id(attributes: str) -> str:
    """The id in an attribute list such as `.note #start`, as it stands after a heading; empty where there is none."""
    found = _OWN_ID.search(attributes)
    return f" {{#{found[1] or found[2]}}}" if found else ""


def with_own_ids(text: str) -> str:
    """Headings with only the id of the attribute list at their end, such as `{#start .wide}`."""
    return _HEADING_ATTRIBUTES.sub(lambda heading: heading[1] + own_id(heading[2]), text)


def admonitions(text: str) -> str:
    """Turn `:::note Title` into the line `Title:` directly above the admonition's text; remove the closing line."""
    lines: list[str] = []
    depth = 0
    joins = False  # whether blank lines are dropped, up to the admonition's text
    for line in text.split("\n"):
        opening = _COLONS.fullmatch(line)
        if opening:
            title = (opening["label"] or opening["title"] or opening["kind"].capitalize()).strip()
            if lines and lines[-1].strip():
                lines.append(opening["indent"].rstrip())
            lines.append(opening["indent"] + titled(title))
            depth, joins = depth + 1, True
        elif depth and _COLONS_END.fullmatch(line):
            lines.append("")
            depth, joins = depth - 1, False
        elif line.strip() or not joins:
            lines.append(line)
            joins = False
    return "\n".join(lines)


def unfolded(text: str) -> str:
    """Blocks whose text is indented, with their titles as lines above it and the text moved back.

    `!!! note "Title"`, `??? tip` and `=== "Tab"` hold the indented lines that follow; `/// note | Title` ends with a
    line of slashes; ```` ```{note} ```` and ```` ```admonish ```` are fences. The text has its code.
    """
    if re.search(r"^[ ]*(?:!!!|\?\?\?|===[!+ ]|///)", text, re.MULTILINE):
        text = "\n".join(_without_slashes(_without_indents(text.split("\n"), 0)))
    return _without_note_fences(text) if re.search(r"(?:`{3}|~{3})[ \t]*(?:admonish|\{)", text) else text


def _without_indents(lines: list[str], depth: int) -> list[str]:
    found: list[str] = []
    code = fenced_lines(lines)
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        block = None if at - 1 in code or depth >= DEPTH else _BLOCK.fullmatch(line)
        if block is None:
            found.append(line)
            continue
        end = _end(lines, at, len(block["indent"]) + INDENT)
        inner = [line[INDENT:] for line in lines[at:end]]
        while inner and not inner[0].strip():
            del inner[0]
        if inner and _BEGINS_BLOCK.match(inner[0]):  # the title directly above would take it into its paragraph
            inner.insert(0, "")
        found += [*_above(found), block["indent"] + _title(block), *_without_indents(inner, depth + 1), ""]
        at = end
    return found


def _end(lines: list[str], at: int, indent: int) -> int:
    """The line after the lines that are indented so far. Blank lines at their end do not belong to them."""
    end = at
    for n in range(at, len(lines)):
        if lines[n].startswith(" " * indent):
            end = n + 1
        elif lines[n].strip():
            break
    return end


def _above(found: list[str]) -> list[str]:
    return [""] if found and found[-1].strip() else []


def _title(block: re.Match[str]) -> str:
    title = (block["title"] or "").replace('\\"', '"').strip()
    if title:
        return titled(title)
    kind = (block["kinds"] or "").split(" ")[0]
    # An empty title, `!!! note ""`, is none; without one the kind is shown.
    return titled(kind.replace("-", " ").capitalize()) if block["title"] is None and kind else ""


def _without_slashes(lines: list[str]) -> list[str]:
    if not any(_SLASHES.fullmatch(line) for line in lines):
        return lines
    found: list[str] = []
    code = fenced_lines(lines)
    options = False
    depth = 0
    for n, line in enumerate(lines):
        opening = None if n in code else _SLASHES.fullmatch(line)
        if opening:
            shown = opening["title"] or ("" if _UNTITLED.fullmatch(opening["kind"]) else opening["kind"].capitalize())
            shown = "" if opening["kind"] == "html" else shown  # `/// html | div.result` names an element
            found += [*_above(found), opening["indent"] + titled(shown) if shown else "", ""]
            depth, options = depth + 1, True
        elif depth and n not in code and _SLASHES_END.fullmatch(line):
            found.append("")
            depth, options = depth - 1, False
        elif not (options and re.match(r"[ ]{4}[\w-]+:", line)):  # no option of the block, such as `    open: True`
            found.append(line)
            options = False
    return found


def _without_note_fences(text: str) -> str:
    lines = text.split("\n")
    for block in fences(lines):
        if opening := _NOTE_FENCE.fullmatch(block.info):
            kind = opening["kind"] or opening["directive"] or "note"
            title = opening["quoted"] or opening["title"] or ("" if kind.startswith("tab-") else kind.capitalize())
            lines[block.begin] = f"{block.prefix}{titled(title)}\n" + block.prefix.rstrip() if title else ""
            for n in block.inside:
                if not re.match(r"[ \t]*:[\w-]+:", lines[n]):  # an option of the directive
                    break
                lines[n] = block.prefix.rstrip()
            if block.closed:
                lines[block.end - 1] = block.prefix.rstrip()
    inner = "\n".join(lines)
    return inner if inner == text else _without_note_fences(inner)  # a set of tabs holds further fences


def without_templates(text: str, keep: Callable[[str], str] = str, value: Callable[[str], str] | None = None) -> str:
    """The text without the tags of Liquid, Jinja and GitBook, and with the title of those that are notes or tabs.

    What a loop repeats is only known when the site is built. `keep` masks the text between `raw` and `endraw`. `value`
    gives the text of a variable, `{{ name }}`; without it they stay.
    """
    if "{%" in text or "{:" in text:
        text = _RAW.replaced(lambda _, raw: keep(raw), text)
        text = _LOOP.replaced(lambda *_: "", text)
        text = _TEMPLATE_TAG.sub(_of_template, text)
    if value is not None and "{{" in text:
        text = re.sub(r"\{\{[ ]*([\w.]{1,200})[^{}\n]{0,300}\}\}", lambda match: value(match[1]), text)
    return text


def _of_template(tag: re.Match[str]) -> str:
    if tag["name"] in ("hint", "tab", "note", "callout") and (title := _TEMPLATE_TITLE.search(tag["rest"])):
        return f"\n{titled(title[1].capitalize())}\n\n"
    return ""


def without_shortcodes(text: str, include: Callable[[str], str] = lambda _: "") -> str:
    """The text with Hugo's shortcodes replaced by their inner text, their title or the file that they `include`."""
    if "{{<" not in text and "{{%" not in text:
        return text
    tags = list(_SHORTCODE.finditer(text))
    pairs = paired(
        None if tag["escaped"] or tag["alone"] else (tag["name"].lower(), bool(tag["close"])) for tag in tags
    )
    pieces: list[str] = []
    stack: list[tuple[str, dict[str, str], int]] = []
    at = 0
    for n, tag in enumerate(tags):
        pieces.append(text[at : tag.start()])
        at = tag.end()
        name = (tag["name"] or "").lower().rpartition("/")[2]
        if tag["escaped"]:
            pieces.append(f"{{{{{tag['open']} {tag['escaped'][2:-2].strip()} {'>' if tag['open'] == '<' else '%'}}}}}")
        elif tag["close"]:
            if n in pairs:
                opened, arguments, begin = stack.pop()
                pieces[begin:] = [_wrapped(opened, arguments, "".join(pieces[begin:]))]
        elif n in pairs:
            stack.append((name, _arguments(tag["arguments"]), len(pieces)))
        else:
            pieces.append(_alone(name, _arguments(tag["arguments"]), include))
    return "".join(pieces) + text[at:]


def _arguments(text: str) -> dict[str, str]:
    """The arguments of a shortcode, by name or by number."""
    found: dict[str, str] = {}
    for place, argument in enumerate(_ARGUMENT.finditer(text or "")):
        value = next(v for v in (argument["double"], argument["raw"], argument["bare"]) if v is not None)
        found[(argument["key"] or str(place)).lower()] = value.replace('\\"', '"')
    return found


def _first(arguments: dict[str, str], *names: str) -> str:
    return next((arguments[name] for name in names if arguments.get(name)), "")


def _wrapped(name: str, arguments: dict[str, str], inner: str) -> str:
    if name in _CODE_TAGS:
        return f"\n{fenced(inner.strip(chr(10)), _first(arguments, 'lang', 'language', '0'))}\n"
    if name in _NOTES:
        label = _first(arguments, "title", "header", "summary", "name", "label")
        label = label or ("" if name in ("note", "alert", "callout") else _first(arguments, "0")) or name.capitalize()
        return f"\n\n{titled(label)}\n\n{inner}\n\n"
    caption = _first(arguments, "caption", "alt") if name in ("figure", "img", "image", "imgproc") else ""
    return f"\n\n{caption}\n\n{inner}" if caption else inner


def _alone(name: str, arguments: dict[str, str], include: Callable[[str], str]) -> str:
    if name in ("ref", "relref"):
        return _first(arguments, "path", "0")
    if name in _INCLUDE_TAGS:
        return include(_first(arguments, "file", "path", "0"))
    caption = _first(arguments, "caption", "title", "alt")
    return f"\n\n{caption}\n\n" if caption else _first(arguments, "text")
