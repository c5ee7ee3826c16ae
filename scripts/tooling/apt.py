"""apt with lists, a cache and sources of its own; proxies, keys and other settings are the machine's."""


def configure(place, machine, status="/dev/null"):
    """Makes `place` and writes the configuration, whose path it returns: for APT_CONFIG.

    `machine`: what `apt-config dump` prints. `status`: the packages that apt takes for installed. The sources are the files that
    the caller writes to place/sources.
    """
    for folder in ("lists/partial", "archives/partial", "sources"):
        (place / folder).mkdir(parents=True, exist_ok=True)
    # What hooks do after an update is for the machine's own lists.
    lines = [line for line in machine.splitlines() if "-Invoke" not in line]
    own = {"Dir::Etc::parts": "/dev/null", "Dir::Etc::main": "/dev/null", "Dir::Etc::sourcelist": "/dev/null",
           "Dir::Etc::sourceparts": place / "sources", "Dir::State": place, "Dir::State::lists": place / "lists",
           "Dir::State::status": status, "Dir::Cache": place, "Dir::Cache::archives": place / "archives",
           "APT::Sandbox::User": "", "Acquire::Languages": "none"}
    path = place / "apt.conf"
    path.write_text("\n".join(lines + [f'{key} "{value}";' for key, value in own.items()]) + "\n")
    return path
