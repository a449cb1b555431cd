#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""confined.py IMAGE.tar CAPABILITY,... FOLDER COMMAND [ARG...] - run a command of an OCI image the way a container manager would.

The image's layer is unpacked and is / of mount, UTS and IPC namespaces of its own, with the host's processes (--pid=host): /proc, a /sys that
cannot be written, a /dev of four nodes, FOLDER as /data; only these capabilities are left, no new privileges, and what else the image says.
"""
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

image, capabilities, folder, *command = sys.argv[1:]
NUMBERS = {"dac_read_search": 2, "setgid": 6, "setuid": 7, "sys_ptrace": 19, "sys_admin": 21, "sys_nice": 23, "syslog": 34, "perfmon": 38, "bpf": 39}
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
libc = ctypes.CDLL(None, use_errno=True)


def blob(layout, digest):
    return layout.extractfile("blobs/" + digest.replace(":", "/"))


def mount(what, at, kind, flags=0):
    os.makedirs(at, exist_ok=True)
    if libc.mount(what.encode(), at.encode(), kind.encode() if kind else None, flags, None):
        sys.exit("confined: cannot mount %s: %s" % (at, os.strerror(ctypes.get_errno())))


def unpack(root):
    with tarfile.open(image) as layout:
        index = json.load(layout.extractfile("index.json"))
        manifest = json.load(blob(layout, index["manifests"][0]["digest"]))
        for layer in manifest["layers"]:
            tarfile.open(fileobj=blob(layout, layer["digest"])).extractall(root)
        return json.load(blob(layout, manifest["config"]["digest"]))["config"]


def confine(root, config):
    os.chroot(root)
    os.chdir(config["WorkingDir"])
    keep = {NUMBERS[name] for name in capabilities.split(",")}
    for number in range(64):
        if number not in keep:
            libc.prctl(24, number, 0, 0, 0)  # PR_CAPBSET_DROP; above the last: EINVAL
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS


work = tempfile.mkdtemp(dir="/var/tmp", prefix="iot-confined.")
try:
    pid = os.fork()
    if pid == 0:
        config = unpack(work)
        if libc.unshare(0x20000 | 0x4000000 | 0x8000000):  # CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC
            sys.exit("confined: no namespaces")
        mount("none", "/", None, MS_REC | MS_PRIVATE)
        mount("proc", work + "/proc", "proc")
        mount("sysfs", work + "/sys", "sysfs", MS_RDONLY)
        mount("tmpfs", work + "/dev", "tmpfs")
        for node in "null", "zero", "urandom", "full":
            os.mknod(work + "/dev/" + node, 0o20666, os.stat("/dev/" + node).st_rdev)
        mount(folder, work + "/data", None, MS_BIND)
        confine(work, config)
        env = dict(one.split("=", 1) for one in config["Env"])
        os.execvpe(command[0], command, env)
    status = os.waitpid(pid, 0)[1]
finally:
    shutil.rmtree(work, ignore_errors=True)
sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)
