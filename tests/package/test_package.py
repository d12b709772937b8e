"""F12 and H3: the zip that people install, made by ./dev package before these tests run."""
import calendar
import hashlib
import json
import os
import re
import struct
import zipfile

import pytest

from harness import BUILD
from installed import BIN, FOLDER, package

MOST = 12 * 1024 * 1024
PROGRAMS = {BIN + "tether.linux.x86_64", BIN + "tether.linux.arm64", BIN + "tether.windows.x86_64.exe", BIN + "tether.macos"}
LIBRARIES = {BIN + "libtether.linux.editor.x86_64.so", BIN + "libtether.linux.editor.arm64.so",
             BIN + "libtether.windows.editor.x86_64.dll",
             BIN + "libtether.macos.editor.framework/libtether.macos.editor"}
OURS = BIN + "tether.linux.x86_64"


@pytest.fixture(scope="module")
def contents():
    """name → (entry, bytes)"""
    with zipfile.ZipFile(package()) as file:
        return {entry.filename: (entry, file.read(entry)) for entry in file.infolist()}


# ---- what is in it ----

def test_F12_H3_everything_is_below_the_addon_and_small(contents):
    assert all(name.startswith("addons/tether/") for name in contents)
    assert os.path.getsize(package()) < MOST
    assert PROGRAMS | LIBRARIES <= set(contents)
    for name in ("LICENSE", "THIRD_PARTY.txt", "README.md", "images/icon.svg", "images/.gdignore", ".gitignore",
                 "plugin.cfg", "plugin.gd"):
        assert "addons/tether/" + name in contents


def test_F12_H3_the_libraries_are_those_that_the_extension_names(contents):
    text = contents["addons/tether/tether.gdextension"][1].decode()
    named = set(re.findall(r'"(bin/[^"]+)"', text))
    here = {name[len("addons/tether/"):] for name in LIBRARIES}
    assert named == {name.rsplit("/", 1)[0] if ".framework/" in name else name for name in here}
    assert 'compatibility_minimum = "4.5"' in text


def test_H3_programs_may_be_executed_and_nothing_else(contents):
    executable = {name for name, (entry, _) in contents.items() if entry.external_attr >> 16 & 0o111}
    assert executable == PROGRAMS


def machine_of(data):
    if data[:4] == b"\x7fELF":
        return {62: "x86_64", 183: "arm64"}[struct.unpack_from("<H", data, 18)[0]]
    if data[:2] == b"MZ":
        at = struct.unpack_from("<I", data, 0x3C)[0]
        return {0x8664: "x86_64"}[struct.unpack_from("<H", data, at + 4)[0]]
    assert data[:4] == b"\xca\xfe\xba\xbe"  # several Mach-O in one
    count = struct.unpack_from(">I", data, 4)[0]
    kinds = [struct.unpack_from(">I", data, 8 + 20 * i)[0] for i in range(count)]
    return "+".join(sorted({0x01000007: "x86_64", 0x0100000C: "arm64"}[kind] for kind in kinds))


def test_H3_each_binary_is_for_the_processor_that_its_name_says(contents):
    for name in PROGRAMS | LIBRARIES:
        expected = "arm64+x86_64" if "macos" in name else "arm64" if "arm64" in name else "x86_64"
        assert machine_of(contents[name][1]) == expected, name


def test_H3_binaries_tell_nothing_of_where_they_were_made(contents):
    for name in PROGRAMS | LIBRARIES:
        for folder in {os.path.dirname(BUILD), os.path.expanduser("~/.cache")}:
            assert folder.encode() not in contents[name][1], name


def test_H3_programs_of_windows_carry_the_time_of_the_commit(contents):
    for name in (BIN + "tether.windows.x86_64.exe", BIN + "libtether.windows.editor.x86_64.dll"):
        entry, data = contents[name]
        made = struct.unpack_from("<I", data, struct.unpack_from("<I", data, 0x3C)[0] + 8)[0]
        assert made // 2 == calendar.timegm(entry.date_time + (0, 0, 0)) // 2, name


def test_H3_the_linux_launcher_needs_no_library_and_the_extension_an_old_one(contents):
    assert b"ld-linux" not in contents[OURS][1] and b"ld-musl" not in contents[OURS][1]
    versions = re.findall(rb"GLIBC_2\.(\d+)", contents[BIN + "libtether.linux.editor.x86_64.so"][1])
    assert versions and max(map(int, versions)) <= 28


def test_H3_symbols_are_in_a_zip_of_their_own():
    with zipfile.ZipFile(package().replace(".zip", "-symbols.zip")) as file:
        sizes = {entry.filename: entry.file_size for entry in file.infolist()}
    assert "tether.linux.x86_64.debug" in sizes and "libtether.windows.editor.x86_64.dll.debug" in sizes
    assert min(sizes.values()) > 100000


def test_H3_checksums_and_bill_of_materials_are_true(contents):
    with open(os.path.join(FOLDER, "SHA256SUMS")) as file:
        told = dict(reversed(line.split()) for line in file)
    assert set(told) == set(os.listdir(FOLDER)) - {"SHA256SUMS"}
    for name, wanted in told.items():
        with open(os.path.join(FOLDER, name), "rb") as file:
            assert hashlib.sha256(file.read()).hexdigest() == wanted
    with open(package().replace(".zip", ".spdx.json")) as file:
        bill = json.load(file)
    assert bill["spdxVersion"] == "SPDX-2.3"
    listed = {file["fileName"][2:]: file["checksums"][0]["checksumValue"] for file in bill["files"]}
    assert listed == {name: hashlib.sha256(data).hexdigest() for name, (_, data) in contents.items()}
    names = {package["name"] for package in bill["packages"]}
    assert {"tether", "libuv", "jansson", "llhttp", "musl"} <= names
    notice = contents["addons/tether/THIRD_PARTY.txt"][1].decode()
    assert all(name in notice for name in names - {"tether"}) and "Permission is hereby granted" in notice
