"""H3: whose work is in the binaries, and that its licences are there in full."""
import json
import re
import zipfile

import pytest

from installed import ADDON, package


def parts():
    with open(package().replace(".zip", ".spdx.json")) as file:
        return {part["name"]: part for part in json.load(file)["packages"] if part["name"] != "tether"}


def symbols():
    return zipfile.ZipFile(package().replace(".zip", "-symbols.zip"))


@pytest.fixture(scope="module")
def sections():
    """name → the text below its heading"""
    with zipfile.ZipFile(package()) as file:
        text = file.read(ADDON + "THIRD_PARTY.txt").decode()
    pieces = re.split(r"^(\S+) \S+ \(.*\), in: .*\n-+\n", text, flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2]))


WORDS = {  # each licence begins and ends with its own
    "MIT": ["Permission is hereby granted, free of charge", "WITHOUT WARRANTY OF ANY KIND"],
    "ZPL-2.1": ["certified as open source|Redistribution and use in source and binary forms", "Servicemarks"],
    "GPL-3.0-or-later": ["GNU GENERAL PUBLIC LICENSE", "END OF TERMS AND CONDITIONS"],
    "GCC-exception-3.1": ["GCC RUNTIME LIBRARY EXCEPTION", "Eligible Compilation Processes", "No Weakening of GCC Copyleft"],
    "LGPL-2.1-or-later": ["GNU LESSER GENERAL PUBLIC LICENSE", "END OF TERMS AND CONDITIONS"],
    "GCC-exception-2.0-note": [r"unlimited\s+permission to link"],
    "Apache-2.0": ["Version 2.0, January 2004", "END OF TERMS AND CONDITIONS"],
    "LLVM-exception": ["LLVM Exceptions to the Apache 2.0 License"],
}


def test_H3_each_part_has_its_licences_in_full(sections):
    assert set(sections) == set(parts())
    for name, part in parts().items():
        for licence in re.split(r" AND | WITH ", part["licenseDeclared"]):
            for words in WORDS[licence]:
                assert re.search(words, sections[name]), "%s: %s: %s" % (name, licence, words)
        assert "Copyright" in sections[name], name


def test_H3_nobody_who_only_packed_a_compiler_is_named(sections):
    assert "Copyright (c) Zig contributors" in sections["compiler-rt"]


# In the symbols of what was built → the part that it comes from.
TRACES = [("tether.linux.x86_64", rb"\0crtstuff\.c\0", "libgcc"), ("tether.linux.x86_64", rb"\0__libc_start_main\.lo\0", "musl"),
          ("tether.linux.arm64", rb"\0__libc_start_main\.c\0", "musl-zig"), ("tether.linux.arm64", rb"\0compiler_rt\0", "compiler-rt"),
          ("libtether.linux.editor.x86_64.so", rb"stat64-2\.32\.c\0", "glibc-nonshared"),
          ("tether.windows.x86_64.exe", rb"__mingw_", "mingw-w64"), ("tether.windows.x86_64.exe", rb"emutls", "libgcc-mingw")]


@pytest.mark.parametrize("file, trace, name", TRACES, ids=lambda value: value if isinstance(value, str) else "")
def test_H3_what_left_its_traces_in_a_program_is_named(file, trace, name):
    with symbols() as zipped:
        assert re.search(trace, zipped.read(file + ".debug")), "%s: no trace of %s any more" % (file, name)
    where = parts()[name]["comment"]
    assert file in where or re.search(r"\ball\b|Windows|arm64|Linux", where)


def test_H3_nothing_else_of_the_compilers_is_in_the_programs():
    """Threads of mingw-w64 and unwinders, which would have licences of their own."""
    with symbols() as zipped:
        for name in zipped.namelist():
            assert not re.search(rb"winpthread|libunwind|_Unwind_Resume", zipped.read(name)), name
