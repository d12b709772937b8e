"""Starts an emulated arm64 machine that runs tests, and tells what they gave.

The machine has no disk: its kernel gets one archive with Debian's programs, what was built, and the tests.
arm64_init.sh is its first process."""
import argparse
import os
import stat
import subprocess
import sys
import time

LIMIT = 1800  # seconds: a machine that hangs is ended then
CPU = "cortex-a72"  # the newest ones are slow to emulate: each pointer is signed and checked
TELLS = "arm64: "


def read_arguments():
    parser = argparse.ArgumentParser(description="runs tests on an emulated arm64 machine")
    for name in ("root", "build", "system", "log", "counts", "skips"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("files", nargs="+", help="the files of tests, below tests/")
    return parser.parse_args()


class Archive:
    """What the kernel unpacks into memory: cpio's "newc" format."""

    def __init__(self, out):
        self.out, self.number, self.at = out, 0, 0
        self.folders = {""}

    def write(self, data):
        self.out.write(data)
        self.at += len(data)

    def entry(self, name, mode, data=b"", mtime=0):
        self.number += 1
        words = (self.number, mode, 0, 0, 1, mtime, len(data), 0, 0, 0, 0, len(name.encode()) + 1, 0)
        self.write(b"070701" + b"".join(b"%08X" % word for word in words) + name.encode() + b"\0")
        self.write(b"\0" * (-self.at % 4) + data)
        self.write(b"\0" * (-self.at % 4))

    def folder(self, name):
        if name not in self.folders:
            self.folder(os.path.dirname(name))
            self.folders.add(name)
            self.entry(name, stat.S_IFDIR | 0o755)

    def add(self, path, name):
        """A file, or a folder with all that is in it."""
        told = os.lstat(path)
        if stat.S_ISDIR(told.st_mode):
            self.folder(name)
            for each in sorted(os.listdir(path)):
                self.add(os.path.join(path, each), os.path.join(name, each))
            return
        self.folder(os.path.dirname(name))
        if stat.S_ISLNK(told.st_mode):
            self.entry(name, stat.S_IFLNK | 0o777, os.readlink(path).encode())
        elif stat.S_ISREG(told.st_mode):
            with open(path, "rb") as file:
                self.entry(name, stat.S_IFREG | told.st_mode & 0o777, file.read(), int(told.st_mtime))

    def close(self):
        self.entry("TRAILER!!!", 0)


def is_program(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF" and os.access(path, os.X_OK)


def add_programs(archive, options):
    built = os.path.join(options.build, "linux.arm64", "tests")
    for folder, _, names in os.walk(built):
        for name in names:
            path = os.path.join(folder, name)
            if is_program(path):
                archive.add(path, os.path.join("tether/build/linux.arm64/tests", os.path.relpath(path, built)))
    archive.add(os.path.join(options.build, "linux.arm64.release-static/tether"), "tether/build/tether")


def make_archive(options, path):
    with open(path, "wb") as out:
        archive = Archive(out)
        archive.add(os.path.join(options.system, "root"), "")
        add_programs(archive, options)
        archive.add(os.path.join(options.root, "VERSION"), "tether/VERSION")
        for name in ["conftest.py", "support"] + options.files:
            archive.add(os.path.join(options.root, "tests", name), "tether/tests/" + name)
        archive.add(os.path.join(options.root, "tests/support/arm64_init.sh"), "init")
        archive.entry("now", stat.S_IFREG | 0o644, b"%d\n" % time.time())
        archive.entry("dev/console", stat.S_IFCHR | 0o600)
        archive.close()


def run_machine(options, archive):
    argv = ["qemu-system-aarch64", "-M", "virt", "-cpu", CPU, "-smp", "2", "-m", "2048", "-nic", "none", "-no-reboot",
            "-display", "none", "-serial", "stdio", "-kernel", os.path.join(options.system, "vmlinuz"), "-initrd", archive,
            "-append", "console=ttyAMA0 quiet panic=-1"]
    with open(options.log, "wb") as log, subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as machine:
        try:
            machine.wait(LIMIT)
        except subprocess.TimeoutExpired:
            machine.kill()
    with open(options.log, errors="replace") as log:
        return log.read().replace("\r", "")


def sum_up(options, output):
    """What it told; that it told nothing is a failure."""
    counts = "0 1 0"
    skips = []
    for line in output.split("\n"):
        if not line.startswith(TELLS):
            continue
        kind, _, rest = line[len(TELLS):].partition(": ")
        if kind == "counts":
            counts = rest
        elif kind == "skipped":
            skips.append("arm64: %s\n" % rest)
        else:
            print(line)
    if counts.split()[1] != "0":
        print(output)
    with open(options.counts, "w") as file:
        file.write(counts + "\n")
    with open(options.skips, "a") as file:
        file.writelines(skips)


def main():
    options = read_arguments()
    archive = os.path.join(options.build, "arm64.cpio")
    make_archive(options, archive)
    sum_up(options, run_machine(options, archive))
    os.remove(archive)


if __name__ == "__main__":
    sys.exit(main())
