"""What the server, which is GPL-2.0-only, may load."""
import re
import subprocess

from harness.case import case, expect

# Needed library -> its licence. A library that is not here has to be looked at before it may be linked.
LICENCES = {
    "ha_rocksdb.so": "GPL-2.0 (MariaDB and MyRocks)",
    "libisal.so.2": "BSD-3-Clause",
    "liburing.so.2": "LGPL-2.1 or MIT",
    "libstdc++.so.6": "GPL-3.0 with the runtime library exception",
    "libgcc_s.so.1": "GPL-3.0 with the runtime library exception",
    "libm.so.6": "LGPL-2.1-or-later",
    "libc.so.6": "LGPL-2.1-or-later",
    "ld-linux-x86-64.so.2": "LGPL-2.1-or-later",
}
# Linked statically. Each leaves strings or symbols by which it is known here to be there or not.
INSIDE = {"libfmt (headers)": "MIT", "libnvme (three objects)": "LGPL-2.1-or-later"}


@case(short=True)
def all_needed_libraries_are_compatible_with_gpl_2(kit):
    """ha_rocksdb_fs.so needs only libraries that a GPL-2.0 program may load; libzbd (LGPL-3.0) is not among them"""
    told = subprocess.run(["readelf", "--dynamic", kit.programs.plugins / "ha_rocksdb_fs.so"], capture_output=True,
                          text=True, check=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", told)
    for library in needed:
        expect(library in LICENCES, f"{library} is needed, and its licence is not known to be compatible with GPL-2.0")
        print(f"    {library:22} {LICENCES[library]}")
    for part, licence in INSIDE.items():
        print(f"    {part:22} {licence}, inside")
    expect("ha_rocksdb.so" in needed, "the engine is not needed, so it would not be loaded")
