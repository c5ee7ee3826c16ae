"""Formats numbers for people, with three significant digits."""


def digits(value):
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def count(value):
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= limit:
            return digits(value / (1e3 if unit == "k" else limit)) + unit
    return digits(value) if value < 100 else f"{value:,.0f}"


def micros(value):
    if value is None:
        return "–"
    if value >= 999500:
        return digits(value / 1e6) + " s"
    return digits(value / 1e3) + " ms" if value >= 999.5 else digits(value) + " µs"


def size(value):
    for limit, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if value >= limit:
            return f"{digits(value / limit)} {unit}"
    return f"{value:.0f} B"


def times(value):
    return "–" if value is None else f"{value:.2f}×"
