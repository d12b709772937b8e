"""Reads programs and libraries of macOS: what they are for, what they need, and whether they are signed."""
import hashlib
import struct

PROCESSORS = {0x01000007: "x86_64", 0x0100000C: "arm64"}
KINDS = {2: "program", 6: "library"}
BUILD_VERSION, ID_DYLIB, CODE_SIGNATURE = 0x32, 0x0D, 0x1D
LOADS = (0x0C, 0x18 | 0x80000000, 0x1F | 0x80000000)  # plainly, weakly, and handed on
AD_HOC = 2


class Slice:
    """The part for one processor."""

    def __init__(self, data):
        self.data = data
        magic, processor, _, kind, count = struct.unpack_from("<IIIII", data)
        assert magic == 0xFEEDFACF
        self.processor, self.kind = PROCESSORS[processor], KINDS[kind]
        self.loads, self.name, self.oldest, self.signature = [], None, None, None
        at = 32
        for _ in range(count):
            command, size = struct.unpack_from("<II", data, at)
            self.read(command, at, size)
            at += size

    def read(self, command, at, size):
        if command == BUILD_VERSION:
            system, oldest = struct.unpack_from("<II", self.data, at + 8)
            assert system == 1  # macOS
            self.oldest = "%d.%d" % (oldest >> 16, oldest >> 8 & 0xFF)
        elif command == ID_DYLIB:
            self.name = self.text(at, size)
        elif command in LOADS:
            self.loads.append(self.text(at, size))
        elif command == CODE_SIGNATURE:
            start, length = struct.unpack_from("<II", self.data, at + 8)
            self.signature = self.data[start:start + length]

    def text(self, at, size):
        start = struct.unpack_from("<I", self.data, at + 8)[0]
        return self.data[at + start:at + size].split(b"\0")[0].decode()

    def is_signed_ad_hoc(self):
        """Whether there is a signature of nobody, and the hash of each page is that of the page."""
        if not self.signature:
            return False
        magic, _, count = struct.unpack_from(">III", self.signature)
        assert magic == 0xFADE0CC0
        for number in range(count):
            at = struct.unpack_from(">I", self.signature, 16 + 8 * number)[0]
            if struct.unpack_from(">I", self.signature, at)[0] == 0xFADE0C02:
                return self.directory_holds(self.signature[at:])
        return False

    def directory_holds(self, directory):
        flags, hashes = struct.unpack_from(">II", directory, 12)
        pages, limit = struct.unpack_from(">II", directory, 28)
        size, kind, _, page_shift = struct.unpack_from(">BBBB", directory, 36)
        page = 1 << page_shift
        assert (size, kind) == (32, 2) and pages == -(-limit // page) and pages > 0  # SHA-256 of each
        told = [directory[hashes + 32 * i:hashes + 32 * (i + 1)] for i in range(pages)]
        found = [hashlib.sha256(self.data[page * i:min(page * (i + 1), limit)]).digest() for i in range(pages)]
        return bool(flags & AD_HOC) and told == found


def slices(data):
    """Those of a universal file."""
    magic, count = struct.unpack_from(">II", data)
    assert magic == 0xCAFEBABE
    ends = [struct.unpack_from(">II", data, 8 + 20 * i + 8) for i in range(count)]
    return [Slice(data[start:start + size]) for start, size in ends]
