"""A prefix of Wine, the machine that programs of Windows take themselves to be on: wine_prefix.py FOLDER.

To make one takes seconds and 700 MB, for Wine puts a copy of each of its libraries there. So one is made, and the others
are links to its files, but for the registry's, into which Wine writes."""
import fcntl
import glob
import os
import shutil
import subprocess
import sys

WINE = "/usr/lib/wine/wine64"
WINESERVER = "/usr/lib/wine/wineserver64"
# In a locale in which a file may have any name: Wine finds no other than ASCII in that of a minimal system.
ENVIRONMENT = {"WINEDEBUG": "-all", "DISPLAY": "", "LC_ALL": "C.UTF-8",
               "WINEDLLOVERRIDES": "mscoree,mshtml,winedbg.exe="}


def _call(prefix, *argv):
    subprocess.run(argv, env={**os.environ, **ENVIRONMENT, "WINEPREFIX": prefix}, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=180)


def end(prefix):
    """Ends all that runs in it; the registry is in its files then."""
    _call(prefix, WINESERVER, "-k")
    _call(prefix, WINESERVER, "-w")


def _show_windows(prefix, how):
    """The desktop asks for it once, when it is made."""
    _call(prefix, WINE, "reg", "add", r"HKCU\Software\Wine\Drivers", "/v", "Graphics", "/d", how, "/f")
    end(prefix)


def _make_first(prefix):
    """In which windows exist although nobody sees them."""
    shutil.rmtree(prefix + ".new", ignore_errors=True)
    _call(prefix + ".new", WINE, "wineboot", "--init")
    _show_windows(prefix + ".new", "null")
    if not os.path.exists(prefix + ".new/system.reg"):
        raise RuntimeError("Wine could make no prefix in " + prefix)
    os.rename(prefix + ".new", prefix)


def make(prefix, screen=False):
    """There may be one already. With a screen its windows are shown on that of X11."""
    first = os.path.join(os.path.dirname(prefix), "windows.prefix")
    with open(first + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(first):
            _make_first(first)
    if os.path.exists(os.path.join(prefix, "system.reg")):
        return
    shutil.rmtree(prefix, ignore_errors=True)
    # The file "wineserver" tells in which folder that of a prefix listens.
    shutil.copytree(first, prefix + ".new", symlinks=True, copy_function=os.link,
                    ignore=shutil.ignore_patterns("wineserver"))
    for path in glob.glob(prefix + ".new/*.reg"):
        shutil.copy(path, path + ".new")
        os.rename(path + ".new", path)
    os.rename(prefix + ".new", prefix)
    if screen:
        _show_windows(prefix, "x11")


if __name__ == "__main__":
    make(os.path.abspath(sys.argv[1]))
