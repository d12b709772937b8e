"""A process that holds one control session: session_client.py SOCKET ROLE.

Says "welcome ID" or "error CODE", then obeys lines on standard input: "leave REASON", "close",
"hello" (connects again), and answers each with "done LINE". Messages of the daemon are read and
dropped. It ends with its input."""
import json
import os
import select
import socket
import sys


def start_time():
    with open("/proc/self/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[19]


def receive(stream):
    """The next line and nothing more: what follows is dropped by the caller."""
    data = b""
    while not data.endswith(b"\n"):
        byte = stream.recv(1)
        if not byte:
            return {"type": "error", "code": "closed"}
        data += byte
    return json.loads(data)


def connect(path, role):
    stream = socket.socket(socket.AF_UNIX)
    stream.connect(path)
    if role == "anonymous":
        stream.sendall(b'{"type":"status","id":1}\n')
    else:
        hello = {"type": "hello", "protocol": 1, "role": role, "version": "0.0.1", "pid": os.getpid(),
                 "start": start_time(), "project": "/projects/%d" % os.getpid()}
        stream.sendall(json.dumps(hello).encode() + b"\n")
    answer = receive(stream)
    good = answer["type"] in ("welcome", "status")
    print("welcome %s" % answer.get("session", "-") if good else "error %s" % answer.get("code"), flush=True)
    return stream


def main():
    path, role = sys.argv[1:]
    stream = connect(path, role)
    pending = b""
    while True:
        sources = [sys.stdin.fileno()] + ([stream] if stream else [])
        for source in select.select(sources, [], [])[0]:
            if source is stream:
                if not stream.recv(65536):
                    stream = None
                    print("closed", flush=True)
                break
            more = os.read(sys.stdin.fileno(), 4096)
            if not more:
                return
            pending += more
            while b"\n" in pending:
                line, pending = pending.split(b"\n", 1)
                words = line.decode().split()
                if words[0] == "leave":
                    stream.sendall(json.dumps({"type": "leave", "reason": words[1]}).encode() + b"\n")
                elif words[0] == "hello":
                    stream = connect(path, role)
                elif words[0] == "close":
                    stream.close()
                    stream = None
                print("done " + line.decode(), flush=True)


main()
