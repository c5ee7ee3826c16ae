"""The tree as it stands, without what is built from it."""
import subprocess
import tarfile

from tooling.places import BUILD_ROOT, ROOT


def files():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True,
                            check=False)
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]
    return [path for path in ROOT.rglob("*") if path.is_file() and BUILD_ROOT not in path.parents]  # not a clone


def write(archive):
    with tarfile.open(archive, "w") as tar:
        for path in files():
            tar.add(path, path.relative_to(ROOT), recursive=False)
