"""Cuts C++ into statements, for checks that need no parser."""


def statements(code):
    """(text, end, line) of each statement of `code`, which has no comments and literals: the text up to one of `{`, `}` and
    `;` with single spaces, that character, and its line.
    """
    text, line = "", 1
    for char in code:
        line += char == "\n"
        if char in "{};":
            yield " ".join(text.split()), char, line
            text = ""
        else:
            text += char
