"""The measured programs: those of scripts/bench, and files.cc for the same RocksDB."""
import hashlib
import os
import pathlib

from tooling.places import ToolError
from trial import programs


def get(rocksdb, built_already, screen):
    """{name: path} of what the guest runs, but for the tools."""
    found = programs.find(rocksdb) if built_already else programs.build(rocksdb, screen)
    files = programs.build_folder(rocksdb) / "zenfs_peers_files"
    if not built_already:
        screen.working("building files.cc")
        programs.build_targets(files.parent, [], [files.name])
    paths = {"db_bench": str(found.db_bench), "plugin": str(found.plugin), "zenfs": str(found.zenfs.program), "files": str(files)}
    for path in paths.values():
        if not os.path.exists(path):
            raise ToolError(f"{path} is missing; leave --no-build away")
    return paths


def identity(paths):
    """What tells two builds apart."""
    return {name: hashlib.sha256(pathlib.Path(os.path.realpath(path)).read_bytes()).hexdigest()[:16] for name, path in paths.items()}
