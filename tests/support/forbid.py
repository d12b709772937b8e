"""Runs a command whose system calls of some kinds fail: what an old kernel does not have, or what a
sandbox forbids. `forbid.py CALL[:ARGUMENT=VALUE]/ERRNO… -- COMMAND…`, for x86-64 and 64-bit ARM."""
import ctypes
import errno
import os
import struct
import sys

NUMBERS = {"pidfd_open": (434, 434), "prctl": (157, 167), "getsockopt": (55, 209),
           "inotify_init1": (294, 26), "inotify_add_watch": (254, 27)}
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # of the classic BPF
ALLOW, FAIL = 0x7FFF0000, 0x00050000
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38


def rule(word):
    """The steps for one call; they begin and end with its number loaded."""
    call, code = word.split("/")
    name, _, condition = call.partition(":")
    code = getattr(errno, code)
    number = NUMBERS[name][os.uname().machine == "aarch64"]
    if not condition:
        return [(EQUAL, 0, 1, number), (RETURN, 0, 0, FAIL | code)]
    argument, value = (int(part) for part in condition.split("="))
    return [(EQUAL, 0, 4, number), (LOAD, 0, 0, 16 + 8 * argument), (EQUAL, 0, 1, value),
            (RETURN, 0, 0, FAIL | code), (LOAD, 0, 0, 0)]


def forbid(words):
    steps = [(LOAD, 0, 0, 0)] + [step for word in words for step in rule(word)] + [(RETURN, 0, 0, ALLOW)]
    text = b"".join(struct.pack("HBBI", *step) for step in steps)
    filter = ctypes.create_string_buffer(text, len(text))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(filter)), 16)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, 2, program, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def main():
    end = sys.argv.index("--")
    forbid(sys.argv[1:end])
    os.execvp(sys.argv[end + 1], sys.argv[end + 1:])


if __name__ == "__main__":
    main()
