"""H3: the same bytes from two folders. To build all seven parts twice takes two minutes of two cores, so it is tried
with one of gcc's and one of Zig's; `./dev package --twice` compares the whole package."""
import hashlib
import os

import pytest

from harness import BUILD, run
from sources import copy_sources

PARTS = {  # options → what comes of it, as tests/support/package.py takes it
    "static=yes arch=arm64": ["linux.arm64.release-static/tether"],
    "platform=windows": ["windows.x86_64.release/tether.exe", "windows.x86_64.release/libtether.windows.editor.x86_64.dll"],
}


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


@pytest.fixture(scope="module")
def other():
    """It stays, for the next time."""
    folder = os.path.join(BUILD, "again", "of another name")
    copy_sources(folder)
    return folder


@pytest.mark.parametrize("options", PARTS)
def test_H3_another_folder_makes_the_same_bytes(other, options):
    done = run([os.path.join(other, "dev"), "build", "release=yes", *options.split()], limit=300)
    assert done.status == 0, done.output
    for name in PARTS[options]:
        assert digest(os.path.join(other, "build", name)) == digest(os.path.join(BUILD, name)), name
