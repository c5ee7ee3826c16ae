"""The fuzz targets, with the longest useful input of each: longer inputs are slower and find nothing more."""

TARGETS = {
    "superblock": 4097,
    "edits": 1536,
    "metadata": 3072,
    "older": 2048,
    "commits": 512,
    "framed": 2048,
    "buffer_area": 1024,
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
