"""reStructuredText with the directives and roles of Sphinx, parsed by docutils.

docutils reads no file and runs no program here: includes go through `BookPlace`, and directives and roles that docutils
does not know keep their text. See docutils.sourceforge.io/docs/ref/rst and sphinx-doc.org/en/master/usage.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from rag.ingest.code_lines import is_code
from rag.ingest.dialects import pictured, titled
from rag.ingest.fences import language_of
from rag.ingest.includes import line_span

if TYPE_CHECKING:
    from docutils import nodes

# Marks of markup in one paragraph: docutils takes quadratic time where none of them is closed.
MARKS: Final = 3_000
_MARKS: Final = re.compile(r"[`*|]|_(?!\w)")
_DIRECTIVE: Final = re.compile(r"^[ \t]*\.\.[ \t]+(?:\|[^|\n]+\|[ \t]+)?([\w.:+-]{1,60}?)::(?:[ \t]|$)", re.MULTILINE)
_ROLE: Final = re.compile(r":([a-zA-Z][\w.:+-]{0,60}?):`|`:([a-zA-Z][\w.:+-]{0,60}?):(?!`)")
_KEPT_ROLES: Final = frozenset({"emphasis", "strong", "sub", "sup", "subscript", "superscript", "math", "literal"})
_TITLED_ROLE: Final = re.compile(r"(?P<title>.*?)\s*<(?P<target>[^<>]+)>\s*", re.DOTALL)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What directives are, by the last parts of their names.
ADMONITIONS: Final = _names("note warning tip hint important caution danger error attention")
_CODE: Final = _names(
    "code-block sourcecode code code-cell prompt ipython jupyter-execute testcode testoutput console doctest math "
    "parsed-literal"
)
_NOTHING: Final = _names(
    """
    toctree contents tableofcontents highlight currentmodule default-domain default-role index tabularcolumns sectnum
    autosummary raw meta role testsetup testcleanup rst-class cssclass only-html plot image-sg acks
    include-html title ifconfig bibliography minigallery program module command-output program-output
    image figure-md towncrier-draft-entries
    """
)
# Drawn by a program: a reader sees a picture and its caption.
_DIAGRAMS: Final = _names(
    "graphviz digraph graph inheritance-diagram mermaid uml plantuml blockdiag seqdiag actdiag nwdiag packetdiag"
)
_VERSION_NOTES: Final = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
    "deprecated": "Deprecated since version",
}
# Boxes whose argument is their title, with the title of those that have none.
_TITLED: Final = {
    "seealso": "See also",
    "todo": "To do",
    **{name: name.capitalize() for name in ADMONITIONS | _names("exercise solution margin")},
    **dict.fromkeys(
        _names(
            """
            tab-item tab dropdown card grid-item-card group-tab rubric topic sidebar details collapse code-tab
            admonition table list-table
            """
        ),
        "",
    ),
}
# What docutils knows itself.
_BUILT_IN: Final = ADMONITIONS | _names(
    """
    admonition figure image table list-table csv-table math epigraph highlights pull-quote compound container
    parsed-literal replace unicode date line-block class default-role
    """
)
_OBJECTS: Final = _names(
    """
    function class method classmethod staticmethod attribute property data exception decorator decoratormethod type
    macro var member enum enumerator struct union concept alias option cmdoption envvar object describe confval token
    """
)
_PLAIN: Final = _names(
    """
    figure grid tab-set tabs tab-set-code compound container only hlist centered cssclass div rst-class aside glossary
    productionlist currentmodule card-carousel grid-item
    """
)
_OBJECT_ROLES: Final = _names(
    """
    func class meth mod attr exc data obj const any member type macro var struct enum function method property deco
    module
    """
)
# Roles whose text is what a reader sees: `~`, `!` and `<` mean nothing in them.
_LITERAL_ROLES: Final = _names("file samp command program makevar regexp mimetype newsgroup code literal")
_TEXT_ROLES: Final = _names("kbd dfn")
_CODE_ROLES: Final = _OBJECT_ROLES | _LITERAL_ROLES | _names("option envvar token keyword confval")
_NUMBERED_ROLES: Final = _names("pep rfc cve cwe")


@dataclass(frozen=True, slots=True)
class BookPlace:
    """What a page with directives and roles knows of its book.

    `read` returns the text of a file that the page includes, None where there is none. `label` and `document` return
    the title and the address that a label or the path of a page stands for, None for an unknown one. `external` does
    the same for a role of `extlinks` and its target. `default_role` is that of text between single backticks.
    """

    read: Callable[[str], str | None]
    label: Callable[[str], tuple[str, str] | None] = lambda _: None
    document: Callable[[str], tuple[str, str] | None] = lambda _: None
    external: Callable[[str, str], tuple[str, str] | None] = lambda *_: None
    default_role: str = ""


class RoleText(NamedTuple):
    """What a reader sees of a role: its words, the address that they lead to, and whether they are code."""

    words: str
    address: str = ""
    is_code: bool = False


def parse_rst(text: str, place: BookPlace) -> nodes.document:
    """The parsed page. Raises `ValueError` if it is nested too deeply, or has too many marks in one paragraph."""
    from docutils.core import publish_doctree

    if any(len(_MARKS.findall(block)) > MARKS for block in text.split("\n\n")):
        raise ValueError(
            f"it has more than {MARKS:,} marks of reStructuredText in one paragraph; split it with blank lines"
        )
    if place.default_role:
        text = f".. default-role:: {place.default_role}\n\n{text}"
    _register(text + f":{place.default_role}:`")
    settings = {
        "_disable_config": True,
        "file_insertion_enabled": False,
        "raw_enabled": False,
        "doctitle_xform": False,
        "docinfo_xform": False,
        "syntax_highlight": "none",
        "report_level": 5,
        "halt_level": 5,
        "line_length_limit": 1_000_000,
        "warning_stream": io.StringIO(),
        "smart_quotes": False,
        "auto_id_prefix": "id",
        "book_place": place,
    }
    try:
        return publish_doctree(text, settings_overrides=settings)
    except RecursionError as error:
        raise ValueError("it is nested too deeply; take some of its levels apart") from error


def _register(text: str) -> None:
    """Make every directive and role of the text known to docutils, which reports and drops unknown ones."""
    from docutils.parsers.rst import directives, roles

    for name in {match[1].lower() for match in _DIRECTIVE.finditer(text)} - _BUILT_IN:
        directives.register_directive(name, _any_directive())
    for name in {(match[1] or match[2]).lower() for match in _ROLE.finditer(text)} - _KEPT_ROLES:
        roles.register_local_role(name, _role)  # type: ignore[arg-type]  # the stubs know links alone


def role_text(name: str, content: str, place: BookPlace) -> RoleText:
    """What a role of Sphinx stands for: a link to a label or a page, code, or its text."""
    kind = name.lower().rpartition(":")[2]
    if kind in _LITERAL_ROLES or kind in _TEXT_ROLES:
        return RoleText(content, "", kind in _LITERAL_ROLES)
    found = _TITLED_ROLE.fullmatch(content)
    title, target = (found["title"], found["target"]) if found else ("", content)
    if kind == "any" and (named := place.document(target) or place.label(" ".join(target.lower().split()))):
        return RoleText(title or named[0] or target, named[1])
    if kind in ("ref", "numref", "doc"):
        named = place.document(target) if kind == "doc" else place.label(" ".join(target.lower().split()))
        return RoleText(title or (named[0] if named else "") or target, named[1] if named else "")
    if (outside := place.external(name, target)) is not None:
        return RoleText(title or outside[0], outside[1])
    if kind in _NUMBERED_ROLES:
        return RoleText(title or f"{kind.upper()} {target}")
    if not title and target.startswith("~") and kind in _OBJECT_ROLES:
        target = target[1:].rpartition(".")[2]
    shown = (title or target).lstrip("!")
    if kind in ("func", "meth") and not title and not shown.endswith(")"):
        shown += "()"
    return RoleText(shown.replace("-->", ">") if kind == "menuselection" else shown, "", kind in _CODE_ROLES)


def _role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: Any = None, content: Any = None
) -> tuple[list[nodes.Node], list[nodes.system_message]]:  # the names are those that docutils passes
    from docutils import nodes
    from docutils.utils import unescape

    place: BookPlace = inliner.document.settings.book_place
    words, address, is_code = role_text(name or place.default_role or "any", unescape(text), place)
    if address:
        return [nodes.reference("", words, refuri=address)], []
    return [nodes.literal("", words) if is_code else nodes.inline("", words)], []


class _AnyOptions(dict[str, Any]):
    """An option specification that takes every option as text."""

    def __missing__(self, key: str) -> Callable[[str | None], str]:
        return lambda value: value or ""


@cache
def _any_directive() -> Any:
    """The class of all directives that docutils does not know itself, which imports docutils."""
    from docutils import nodes
    from docutils.parsers.rst import Directive, directives

    class AnyDirective(Directive):
        """A directive with any argument, any option and any content."""

        has_content = True
        optional_arguments = 1
        final_argument_whitespace = True
        option_spec = _AnyOptions(name=directives.unchanged)

        def run(self) -> list[nodes.Node]:
            place: BookPlace = self.state.document.settings.book_place
            argument = self.arguments[0] if self.arguments else ""
            if is_include(self.name, self.options):
                if argument and self.state_machine.get_source_and_line(self.lineno)[0] == argument:
                    raise ValueError(f"{argument} includes itself")
                if (text := place.read(" ".join(argument.split()))) is not None:
                    _register(text)
                    self.state_machine.insert_input(chosen_lines(text, self.options), argument)
                return []
            parts = directive_parts(self.name, argument, self.options, list(self.content), place)
            return [node for part in parts for node in self._nodes(part)]

        def _nodes(self, part: DirectivePart) -> list[nodes.Node]:
            if part.kind == "code":
                return [nodes.literal_block(part.text, part.text, classes=["code", part.language])]
            if part.kind == "literal":
                return [nodes.paragraph("", "", nodes.literal("", part.text))]
            if part.kind == "line":
                found, messages = self.state.inline_text(part.text, self.lineno)
                return [nodes.paragraph("", "", *found), *messages]
            holder = nodes.container()
            self.state.nested_parse(self.content, self.content_offset, holder)
            return list(holder.children)

    return AnyDirective


class DirectivePart(NamedTuple):
    """A part of what a directive stands for: a `line` of markup, `code`, a `literal`, or its `content`."""

    kind: Literal["line", "code", "literal", "content"]
    text: str = ""
    language: str = ""


def is_include(name: str, options: Mapping[str, str]) -> bool:
    """Whether a directive includes a file as markup and not as code."""
    return name.lower() == "include" and not {"literal", "code"} & options.keys()


def directive_parts(
    name: str, argument: str, options: dict[str, str], content: list[str], place: BookPlace
) -> list[DirectivePart]:
    """What a directive of Sphinx stands for. Of an unknown one the content stays, as a block if it is code."""
    name, words = name.lower(), " ".join(argument.split())
    last = name.rpartition(":")[2]
    if last in _NOTHING:
        return []
    if last in _DIAGRAMS:
        shown = options.get("caption") or pictured(options.get("alt", ""))
        return [DirectivePart("line", shown)] if shown else []
    if last in _CODE:
        language = {"doctest": "python", "math": "math"}.get(last, words)  # the argument of doctest names a group
        return _code("\n".join(content), language)
    if last in ("include", "literalinclude"):
        code = "\n".join(chosen_lines(place.read(words) or "", options))
        return _code(code, options.get("language") or language_of(words))
    inner = DirectivePart("content")
    if last in _VERSION_NOTES:
        version, _, said = words.partition(" ")
        since = f"{_VERSION_NOTES[last]} {version}"
        return [DirectivePart("line", f"{since}: {said}" if said else f"{since}."), inner]
    if last in _TITLED:
        title = words or _TITLED[last]
        return [DirectivePart("line", titled(title)), inner] if title else [inner]
    known = last in _OBJECTS or last in _PLAIN or last.startswith("auto")
    if not known and is_code(content):
        return [*_signatures("" if re.fullmatch(_LANGUAGE, words) else argument), *_code("\n".join(content), words)]
    is_object = ":" in name or known
    if last in _PLAIN or not (content or is_object):
        return [inner]
    return [*_signatures(argument), *_fields(options if is_object else {}), inner]


def _signatures(argument: str) -> list[DirectivePart]:
    return [DirectivePart("literal", line.strip()) for line in argument.split("\n") if line.strip()]


def _fields(options: Mapping[str, str]) -> list[DirectivePart]:
    """What the options of an object say of its type and its value, as one line."""
    said = [f"{label}: {' '.join(text.split())}" for name, label in _FIELDS.items() if (text := options.get(name))]
    return [DirectivePart("line", "; ".join(said))] if said else []


_FIELDS: Final = {
    "type": "Type",
    "default": "Default",
    "value": "Value",
}  # options of an object, and how they are shown
_LANGUAGE: Final = r"[\w+#.-]+"


def _code(code: str, language: str) -> list[DirectivePart]:
    language = language if re.fullmatch(_LANGUAGE, language) else ""
    return [DirectivePart("code", code, language)] if code.strip() else []


def chosen_lines(text: str, options: dict[str, str]) -> list[str]:
    """The lines of an included file that its options choose."""
    lines = text.rstrip("\n").split("\n")
    begin, end = 0, len(lines)
    for option, step in (("start-after", 1), ("start-at", 0)):
        if mark := options.get(option):
            begin = next((n + step for n, line in enumerate(lines) if mark in line), begin)
    for option, step in (("end-before", 0), ("end-at", 1)):
        if mark := options.get(option):
            end = next((n + step for n, line in enumerate(lines) if n > begin and mark in line), end)
    for option in ("start-line", "end-line"):
        if re.fullmatch(r"-?\d+", value := options.get(option, "")):
            begin, end = (int(value), end) if option == "start-line" else (begin, int(value))
    lines = lines[begin:end]
    if spans := options.get("lines"):
        lines = [line for span in spans.split(",") for line in line_span(lines, span.replace("-", ":"))]
    if re.fullmatch(r"\d+", depth := options.get("dedent", "")):
        lines = [line[int(depth) :] for line in lines]
    return lines
