"""A network of our own: the loopback interface and nothing else.

Wine tells who is at the other end of a connection by reading all that the kernel has in its tables, and those of a
machine have hundreds of thousands of places, most of them empty: twenty milliseconds for each connection that a
server takes, most of what tests cost there. In a network that is made for them the tables are small; and no test
meets the ports of another run."""
import ctypes
import fcntl
import socket
import struct

CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
PLACES = "1024"


def _bring_up(name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        flags, = struct.unpack_from("H", fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack("16sH14x", name, 0)), 16)
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", name, flags | IFF_UP))


def make_own():
    """For this process and all that it starts from now on; not where it may not. A network decides how large the
    tables of those are that are made in it, so there is one between."""
    unshare = ctypes.CDLL(None, use_errno=True).unshare
    if unshare(CLONE_NEWNET) != 0:
        return
    try:
        with open("/proc/sys/net/ipv4/tcp_child_ehash_entries", "w") as file:
            file.write(PLACES)
        unshare(CLONE_NEWNET)
    except OSError:
        pass  # an older kernel has no such number
    _bring_up(b"lo")
