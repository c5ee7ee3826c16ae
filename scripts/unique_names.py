"""Holds each name to one thing: what `scripts/check-style` asks of the names of headers and of types in headers.

Two types of one name in one namespace are undefined behavior even if no file includes both: the linker keeps one inline
function of the two, and one class runs the code of the other.
"""
import collections
import re

from cpp_statements import statements

NAMESPACE = re.compile(r"(?:inline )?namespace ?([\w:]*)$")
# A nested class that is defined outside (`class A::B {`) and a specialization (`struct hash<A> {`) have no name here.
TYPE = re.compile(r"(?:^|[> ])(?:class|struct|union|enum(?: class| struct)?) "
                  r"(?:\[\[\w+\]\] |alignas\([^)]*\) |[A-Z_]+(?:\([^)]*\))? )*(?!final\b)(\w+)(?: final)? ?(?::(?!:).*)?$")
ALIAS = re.compile(r"(?:template ?<.*> ?)?using (\w+) ?=")


def types(code):
    """(namespace, name, line) of each type that `code` defines at namespace scope. `code` has no comments or literals."""
    code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: "\n" * m.group(0).count("\n"), code, flags=re.M)
    scopes = []  # the name of an open namespace; None for any other brace
    for text, end, line in statements(code):
        at_namespace_scope = None not in scopes
        opened = NAMESPACE.match(text) if end == "{" else None
        named = (TYPE.search(text) if end == "{" else ALIAS.match(text)) if at_namespace_scope else None
        if named and not opened:
            yield "::".join(scopes), named.group(1), line
        if end == "{":
            scopes.append(opened.group(1) if opened else None)
        elif end == "}" and scopes:
            scopes.pop()


def check(headers, report):
    """`headers`: (path, code without comments and literals). Calls report(path, line, what) for each name but its first."""
    names, files = {}, collections.OrderedDict()
    for path, code in headers:
        base = path.rsplit("/", 1)[-1]
        first = files.setdefault(base, path)
        if first != path:
            report(path, 1, f"{first} has the same name; headers need names of their own")
        for namespace, name, line in types(code):
            first = names.setdefault((namespace, name), path)
            if first != path:
                report(path, line, f"{first} has a type {name} in the same namespace; one of them needs another name")
