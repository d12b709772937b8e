"""What is above launcher/os/ knows no system: no header but C's own and the libraries', no function
that C11 does not have, no environment, no signals, no error numbers, no names of systems.

Run with the repository as the current directory; prints each place where something of a system shows."""
import errno
import os
import re
import sys

# signal.h, errno.h and locale.h are C's, too, but what they hold differs from system to system.
HEADERS = {"inttypes.h", "limits.h", "math.h", "stdarg.h", "stdatomic.h", "stdbool.h", "stddef.h", "stdint.h",
           "stdio.h", "stdlib.h", "string.h", "time.h",
           "uv.h", "jansson.h", "llhttp.h", "gdextension_interface.h"}

# Where C's own library tells by errno what nothing else tells.
ERRNO = {
    "launcher/error.c": set(),  # keeps it for whoever asks for an error's text
    "launcher/cli/cli.c": set(),  # fflush: why the output could not be written
    "launcher/options/options.c": set(),  # strtoull: too big
    "launcher/protocol/message.c": {"ENOMEM"},  # jansson: no memory for a part of a value
}

FUNCTIONS = ("strdup strndup strnlen strcasecmp strncasecmp strchrnul strsep strtok_r stpcpy mempcpy memmem asprintf "
             "getline dprintf fdopen fileno gmtime_r localtime_r timegm gettimeofday clock_gettime nanosleep sleep "
             "usleep getenv getpid getppid kill raise signal fork execve waitpid isatty").split()
SYSTEMS = "linux unix windows win32 macos darwin apple".split()

BANNED = [
    (re.compile(r"\benviron\b"), "os_environment() gives the environment"),
    (re.compile(r"\bSIG_?[A-Z]+[0-9]?\b"), "signals have names and numbers below os/ only; see os.h"),
    (re.compile(r"\b(%s)\s*\(" % "|".join(FUNCTIONS)), "this function is not C11's, or depends on the system"),
    (re.compile(r"\b_*(WIN32|WIN64|%s|MINGW\w*|MSC_VER|POSIX\w*|GNU_SOURCE)_*\b" % "|".join(SYSTEMS), re.I),
     "the name of a system"),
]
ERROR_NUMBER = re.compile(r"\b(%s)\b" % "|".join(errno.errorcode.values()))
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank(match):
    """Comments go, and texts but for those that are the name of a system and no more."""
    text = match.group(0)
    if text[0] == '"' and text[1:-1].lower() in SYSTEMS:
        return " %s " % text[1:-1]
    return re.sub(r"[^\n]", " ", text)


def findings(path, source):
    lines = source.split("\n")
    for number, line in enumerate(lines, 1):
        header = re.match(r"\s*#\s*include\s*<([^>]+)>", line)
        if header and header.group(1) not in HEADERS and not (header.group(1) == "errno.h" and path in ERRNO):
            yield number, "<%s> belongs below os/" % header.group(1)
        if re.match(r'\s*#\s*include\s*"os/[^"]*/', line):
            yield number, "what is in a folder of os/ is for os/ alone"
    for number, line in enumerate(TOKEN.sub(blank, source).split("\n"), 1):
        if re.match(r"\s*#\s*include", line):
            continue
        for pattern, why in BANNED:
            found = pattern.search(line)
            if found:
                yield number, "%s: %s" % (found.group(0).strip(), why)
        for name in ERROR_NUMBER.findall(line):
            if name not in ERRNO.get(path, ()):
                yield number, "%s: errors are libuv's here, UV_%s" % (name, name)


def main():
    wrong = 0
    for top in ("launcher", "gdextension"):
        for folder, folders, names in os.walk(top):
            if folder == "launcher":
                folders.remove("os")
            for path in sorted(os.path.join(folder, name) for name in names if name[-2:] in (".c", ".h")):
                with open(path, encoding="utf-8") as file:
                    for number, what in findings(path, file.read()):
                        print("%s:%d: %s" % (path, number, what))
                        wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
