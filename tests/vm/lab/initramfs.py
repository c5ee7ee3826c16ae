"""The guest's first file system: busybox, tests/vm/guest/init and the modules that the lab wants.

Everything else (bash, python3, zenfs, its libraries) comes from the host, read-only, over 9p. Packed once for a
kernel and kept beside it, named after what went in.
"""
import gzip
import hashlib
import lzma
import pathlib
import shutil
import subprocess
import tempfile

from tooling.places import ToolError

from lab.kernels import with_sbin
from lab.places import CACHE, VM

INIT = VM / "guest" / "init"
BUSYBOX = pathlib.Path("/bin/busybox")

# With all that they depend on. Those that a kernel lacks or has built in are left out; a job that asks for one with
# modprobe is told so.
MODULES = ("virtio_pci virtio_blk 9p 9pnet_virtio pvpanic_pci pvpanic_mmio nvme nvme_fabrics nvme_tcp nvmet nvmet_tcp "
           "nvme_loop null_blk zonefs loop dm_mod dm_flakey mq_deadline bfq kyber_iosched scsi_debug sd_mod ublk_drv "
           "crc32c_intel crc32c_generic ext4").split()


def get(kernel):
    """The path of the initramfs for `kernel`, made if need be."""
    if not BUSYBOX.exists():
        raise ToolError(f"{BUSYBOX} is missing: install busybox-static (scripts/setup does)")
    inputs = hashlib.sha256(INIT.read_bytes() + BUSYBOX.read_bytes() + " ".join(modules_of(kernel)).encode())
    CACHE.mkdir(parents=True, exist_ok=True)
    packed = CACHE / f"initramfs-{kernel.version}-{inputs.hexdigest()[:12]}.gz"
    if not packed.exists():
        for old in CACHE.glob(f"initramfs-{kernel.version}-*.gz"):
            old.unlink()
        with tempfile.TemporaryDirectory(dir=CACHE) as work:
            tree = pathlib.Path(work) / "tree"
            fill(tree, kernel)
            archive = pathlib.Path(work) / "archive"
            archive.write_bytes(gzip.compress(pack(tree), compresslevel=1))
            archive.rename(packed)
    return packed


def modules_of(kernel):
    return (*MODULES, *kernel.modules)


def fill(tree, kernel):
    for folder in ("bin", "dev", "proc", "sys", "host", "etc"):
        (tree / folder).mkdir(parents=True)
    shutil.copy(BUSYBOX, tree / "bin" / "busybox")
    (tree / "bin" / "sh").symlink_to("busybox")
    shutil.copy(INIT, tree / "init")
    (tree / "init").chmod(0o755)
    for source in module_files(kernel):
        target = tree / "lib" / "modules" / kernel.version / source.name.removesuffix(".xz")
        target.parent.mkdir(parents=True, exist_ok=True)
        data = source.read_bytes()
        target.write_bytes(lzma.decompress(data) if source.suffix == ".xz" else data)
    for name in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
        source = kernel.tree / "lib" / "modules" / kernel.version / name
        if source.exists():
            shutil.copy(source, tree / "lib" / "modules" / kernel.version / name)
    subprocess.run(["depmod", "-b", tree, kernel.version], check=True, env=with_sbin())


def module_files(kernel):
    files = set()
    for module in modules_of(kernel):
        shown = subprocess.run(["modprobe", "-d", kernel.tree, "-S", kernel.version, "--show-depends", module],
                               capture_output=True, text=True, env=with_sbin())
        for line in shown.stdout.splitlines():
            if line.startswith("insmod "):
                files.add(pathlib.Path(line.split()[1]))
    return sorted(files)


def pack(tree):
    names = sorted(path.relative_to(tree).as_posix() for path in tree.rglob("*"))
    return subprocess.run(["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"], cwd=tree, check=True,
                          input="\n".join(names).encode(), stdout=subprocess.PIPE).stdout
