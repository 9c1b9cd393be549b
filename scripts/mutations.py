"""Small faults that a person could make, as edits of C++ text. Used by scripts/mutate.py.

faults_of(text) lists every fault that it knows for a file. Comments, strings, preprocessor lines, assertions and
declarations are left alone. An edit need not compile; the caller finds out.
"""
import re
from dataclasses import dataclass

FLIPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
OTHER_OPERATOR = {"&&": "||", "||": "&&", "+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "+=": "-=", "-=": "+=",
                  "&": "|", "|": "&", "^": "|", "|=": "&=", "&=": "|="}
OTHER_WORD = {"true": "false", "false": "true", "std::min": "std::max", "std::max": "std::min", "break": "continue",
              "continue": "break", "std::all_of": "std::any_of", "std::any_of": "std::all_of",
              "std::none_of": "std::any_of"}
LEFT_ALONE = re.compile(r"\b(static_assert|assert|template|using|namespace|operator|typename|virtual|friend|extern)\b"
                        r"|= (default|delete);|\[\[noreturn")
NO_STATEMENT = re.compile(r"(return|if|for|while|else|case|default|break|continue|const|constexpr|static|auto|struct|"
                          r"class|switch|do|goto|throw|explicit|inline|mutable|public|private|protected|std)\b")
STATEMENT = re.compile(r"(\*?[\w.\[\]>:()-]+ (=|[-+*/|&^]=) .*|[\w.>:\[\]-]+\(.*\)|(\+\+|--)[\w.>\[\]-]+|"
                       r"[\w.>\[\]-]+(\+\+|--));$")
# What `return {};` returns as well, or what it cannot stand for.
SAME_AS_EMPTY = ("true", "false", "{}", "nullptr", "std::nullopt", "0", "success()")
NAME = r"[A-Za-z_][\w.:]*(?:\(\))?"


@dataclass(frozen=True)
class Fault:
    line: int  # counted from 1
    kind: str
    start: int  # of the text that is replaced, in the file
    end: int
    replacement: str


def without_text(text):
    """The same length, with comments, strings, characters and preprocessor lines blanked."""
    def blank(found):
        return re.sub(r"[^\n]", " ", found.group())
    pattern = r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
    masked = re.sub(pattern, blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, masked, flags=re.M)


def close_of(text, start):
    """The index of the parenthesis that closes the one at `start`, on the same line; or -1."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return -1


def edits(line, following):
    """(kind, start, end, replacement) for each fault on one blanked line; `following` is the next line."""
    for found in re.finditer(r"(?<= )(<=|>=|==|!=|<|>)(?= )", line):
        yield "comparison", *found.span(), FLIPPED[found.group()]
    for found in re.finditer(r"(?<= )(&&|\|\||[-+*/%&|^]|[-+|&]=)(?= )", line):
        yield "operator", *found.span(), OTHER_OPERATOR[found.group()]
    for found in re.finditer(r"(?<![\w:])(" + "|".join(OTHER_WORD) + r")\b", line):
        # The end of a case: after the switch there is rarely anything that `continue` would skip.
        if found.group() == "break" and re.match(r"\s*(case|default)\b", following):
            continue
        yield "word", *found.span(), OTHER_WORD[found.group()]
    for found in re.finditer(r"(?<![\w.'])\d[\d']*(?![\w.'>])", line):
        number = int(found.group().replace("'", ""))
        yield "constant", *found.span(), str(number + 1 if number < 32 else number * 2)
        if 0 < number < 32:
            yield "constant", *found.span(), str(number - 1)
    for found in re.finditer(r"(?<![\w)])!(?=[\w(])", line):
        yield "negation", *found.span(), ""
    for found in re.finditer(r"\b(?:if|while) \(", line):
        end = close_of(line, found.end() - 1)
        if end > 0 and ";" not in line[found.end():end]:
            condition = line[found.end():end]
            yield "condition", found.end(), end, f"!({condition})"
            yield "condition", found.end(), end, "false"
            if found.group().startswith("if"):
                yield "condition", found.end(), end, "true"
    for found in re.finditer(r"\breturn ([^;]+);", line):
        value = found.group(1)
        if value not in SAME_AS_EMPTY:
            yield "return", *found.span(1), "{}"
        if re.search(r"&&|\|\|| [<>=!]=? |^!", value) and "?" not in value:
            yield "return", *found.span(1), f"!({value})"
    for found in re.finditer(rf"\(({NAME}), ({NAME})\)", line):
        yield "order", *found.span(), f"({found.group(2)}, {found.group(1)})"
    for found in re.finditer(rf"(?<![\w.>)]) ({NAME}) - ({NAME})(?![\w(])", line):
        yield "order", *found.span(), f" {found.group(2)} - {found.group(1)}"
    for found in re.finditer(rf" \? ({NAME}|\d+) : ({NAME}|\d+)(?![\w(])", line):
        yield "order", *found.span(), f" ? {found.group(2)} : {found.group(1)}"
    body = line.strip()
    if body and not NO_STATEMENT.match(body) and STATEMENT.match(body) and ".reserve(" not in body:
        start = len(line) - len(line.lstrip())
        yield "statement dropped", start, start + len(body), ";"
    if re.match(r"void [\w:]+\(.*\) (const )?(noexcept )?\{$", line):
        yield "early return", len(line.rstrip()), len(line.rstrip()), " return;"


def faults_of(text):
    found = []
    masked = without_text(text)
    offset = 0
    lines = masked.split("\n")
    for number, line in enumerate(lines, 1):
        if not LEFT_ALONE.search(line):
            for kind, start, end, replacement in edits(line, "".join(lines[number:number + 1])):
                # Where the blanked line has a gap, the replacement must repeat what was there.
                if kind in ("condition", "return", "order") and replacement not in ("false", "true", "{}"):
                    old = line[start:end]
                    whole = text[offset + start:offset + end]
                    if old != whole:
                        if old not in replacement:
                            continue
                        replacement = replacement.replace(old, whole)
                found.append(Fault(number, kind, offset + start, offset + end, replacement))
        offset += len(line) + 1
    return found
