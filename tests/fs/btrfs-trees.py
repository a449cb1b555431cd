#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-only
"""btrfs-trees.py - blocks of btrfs trees as `btrfs inspect-internal dump-tree` shows them, by tree.

usage: btrfs-trees.py GENERATION < DUMPS

Several dumps of one image, one after the other, may be read: a block is known by its place and its generation, and counted once. Those of
GENERATION and earlier are left out. Prints "tree blocks", as the run names the trees.
"""
import re
import sys

NAMES = {
    "ROOT_TREE": "root_tree", "EXTENT_TREE": "extent_tree", "CHUNK_TREE": "chunk_tree", "DEV_TREE": "device_tree", "CSUM_TREE": "checksum_tree",
    "UUID_TREE": "uuid_tree", "FREE_SPACE_TREE": "free_space_tree", "BLOCK_GROUP_TREE": "block_group_tree", "TREE_LOG": "log_tree",
    "QUOTA_TREE": "quota_tree",
}
HEAD = re.compile(r"(?:leaf|node) (\d+) .*generation (\d+) owner (\S+)$")


def main():
    after, seen, count = int(sys.argv[1]), set(), {}
    for line in sys.stdin:
        found = HEAD.match(line.rstrip())
        if not found or int(found[2]) <= after or found.groups() in seen:
            continue
        seen.add(found.groups())
        name = NAMES.get(found[3], "fs_tree")  # FS_TREE, and subvolumes by their numbers
        count[name] = count.get(name, 0) + 1
    for name in sorted(count):
        print(name, count[name])


main()
