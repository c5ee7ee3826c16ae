"""A class that grows past MAX_FUNCTIONS functions is two.

Counted are the functions that a class declares itself. Not counted: overrides, whose number the interface decides, and
what is defaulted or deleted. Approximate, as there is no parser: a statement with a parameter list, directly in a class.
"""
import re

from cpp_statements import statements

MAX_FUNCTIONS = 30

NO_FUNCTION = re.compile(r"(using|friend|static_assert|typedef|enum|class|struct|union|namespace|#)\b")
CLASS = re.compile(r"^(?:template\s*)?(?:class|struct|union)\s+(?:\[\[\w+\]\]\s*)?(?:[A-Z_]+\s+)?([\w:]+)[^()]*$")


def declares_function(text):
    text = re.sub(r"\b(public|private|protected)\s*:(?!:)", " ", text)
    while (shorter := re.sub(r"<[^<>()]*(\([^()]*\)[^<>()]*)*>", "", text)) != text:
        text = shorter
    text = re.sub(r"\b[A-Z][A-Z_]+\s*\([^()]*(\([^()]*\))?[^()]*\)", "", text)  # REQUIRES(mutex_)
    text = re.sub(r"\[\[\w+\]\]", "", text).strip()
    if NO_FUNCTION.match(text) or re.search(r"\boverride\b|=\s*(default|delete)\b", text):
        return False
    before, found, _ = text.partition("(")
    return bool(found) and ("=" not in before or "operator" in before)


def classes(code):
    """(name, line, number of functions) of each class in `code`, which has no comments and strings."""
    stack = []
    for text, end, line in statements(code):
        top = stack[-1] if stack else None
        if end != "}" and top is not None and declares_function(text):
            top[2] += 1
        if end == "{":
            plain = re.sub(r"\b(public|private|protected)\s*:(?!:)", " ", text)
            while (shorter := re.sub(r"<[^<>]*>", "", plain)) != plain:
                plain = shorter
            named = CLASS.match(plain.strip())
            stack.append([named[1], line, 0] if named else None)
        elif end == "}" and stack:
            ended = stack.pop()
            if ended is not None:
                yield tuple(ended)


def check(headers, report):
    """`headers`: (path, code without comments and strings)."""
    for path, code in headers:
        for name, line, functions in classes(code):
            if functions > MAX_FUNCTIONS:
                report(path, line, f"class {name} has {functions} functions of its own, at most {MAX_FUNCTIONS}; split it by concept")
