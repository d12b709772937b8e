"""H7: what is for macOS, where nothing of ours has run yet: read, as that system's loader would."""
import os
import plistlib
import zipfile

import pytest

import mach_o
from harness import BUILD
from installed import BIN, package

FRAMEWORK = "libtether.macos.editor.framework"
NAME = "libtether.macos.editor"
LIBRARY, PROGRAM = BIN + FRAMEWORK + "/" + NAME, BIN + "tether.macos"
OLDEST = "11.0"


def read(name):
    with zipfile.ZipFile(package()) as file:
        return file.read(name)


def home_of_the_compiler():
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "tether")


@pytest.fixture(scope="module", params=[LIBRARY, PROGRAM], ids=["library", "program"])
def file(request):
    return request.param


def test_H7_both_processors_are_in_one_file(file):
    found = mach_o.slices(read(file))
    assert sorted(one.processor for one in found) == ["arm64", "x86_64"]
    assert {one.kind for one in found} == {"library" if file == LIBRARY else "program"}


def test_H7_it_runs_from_the_oldest_system_on_that_is_named(file):
    facts = plistlib.loads(read(BIN + FRAMEWORK + "/Resources/Info.plist"))
    assert facts["LSMinimumSystemVersion"] == OLDEST
    assert {one.oldest for one in mach_o.slices(read(file))} == {OLDEST}


def test_H7_it_needs_nothing_but_the_system(file):
    for one in mach_o.slices(read(file)):
        assert one.loads == ["/usr/lib/libSystem.B.dylib"], one.processor


def test_H7_what_is_for_arm64_is_signed_ad_hoc(file):
    """That system runs nothing there that is not. A signature that was left behind by a change is none."""
    arm = next(one for one in mach_o.slices(read(file)) if one.processor == "arm64")
    assert arm.is_signed_ad_hoc()
    changed = bytearray(arm.data)
    changed[0x1000] ^= 1
    assert not mach_o.Slice(bytes(changed)).is_signed_ad_hoc()


def test_H7_it_names_no_folder_of_where_it_was_made(file):
    for one in mach_o.slices(read(file)):
        data = one.data.replace("/root/…".encode(), b"")  # which the tools say of the nodes of a game
        for folder in (os.path.dirname(BUILD), home_of_the_compiler(), "/home/", "/root/", "/tmp/zig"):
            assert folder.encode() not in data, folder


def test_H7_the_framework_is_what_its_facts_say():
    facts = plistlib.loads(read(BIN + FRAMEWORK + "/Resources/Info.plist"))
    with open(os.path.join(os.path.dirname(BUILD), "VERSION")) as file:
        version = file.read().strip()
    assert facts["CFBundlePackageType"] == "FMWK" and facts["CFBundleExecutable"] == NAME
    assert facts["CFBundleName"] == NAME and facts["CFBundleSupportedPlatforms"] == ["MacOSX"]
    assert facts["CFBundleVersion"] == facts["CFBundleShortVersionString"] == version
    for one in mach_o.slices(read(LIBRARY)):
        assert one.name == "@rpath/%s/%s" % (FRAMEWORK, NAME)
