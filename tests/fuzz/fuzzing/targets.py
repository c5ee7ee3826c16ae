"""The fuzz targets, and how long an input of each may be: what is longer is slower and finds nothing more."""

TARGETS = {
    "superblock": 4097,
    "edits": 1536,
    "metadata": 3072,
    "commits": 512,
    "framed": 2048,
    "staging": 1024,
    "buffers": 512,
    "emulated": 512,
    "uri": 256,
    "command_line": 192,
    "manifest": 512,
    "backup_directory": 256,
    "metadata_copy": 4097,
    "image": 512,
    "repair": 512,
}
