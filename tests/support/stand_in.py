"""Programs of Linux whose places among the processes of Windows are taken by stand_in.exe."""
import os
import select
import signal
import socket
import struct
import subprocess
import threading


ENDING = 1.0  # seconds


class StandIns:
    """Starts what the stand-ins ask for. Each is a thread that lives as long as its program."""

    def __init__(self, translate, base):
        self.translate = translate  # words and environment, as they are on the other side
        self.base = base            # the environment there, when nobody has changed it
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.waiting = {}           # by pid: the streams that have come
        self.running = {}           # its thread: pid of ours
        self.programs = {}          # pid of the stand-in: that of ours
        self.acceptor = threading.Thread(target=self._accept, daemon=True)
        self.acceptor.start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return  # it is over
            try:
                role, pid = _line(connection).split()
            except (OSError, EOFError):
                connection.close()  # the stand-in has ended before
                continue
            if role == "wait":
                connection.close()
                continue
            streams = self.waiting.setdefault(pid, {})
            streams[role] = connection
            if role == "control":
                thread = threading.Thread(target=self._run, args=(int(pid), self.waiting.pop(pid)), daemon=True)
                self.running[thread] = None
                thread.start()

    def _run(self, pid, streams):
        control = streams["control"]
        try:
            with control.makefile("rb") as file:
                count = struct.unpack("<I", file.read(4))[0]
                words = [_word(file) for _ in range(count)]
                entries = []
                while entry := _word(file):
                    entries.append(entry)
            env = dict(os.environ)
            for name, value in (entry.split("=", 1) for entry in entries if not entry.startswith("=")):
                if self.base.get(name) != value:
                    env[name] = value
            words, env = self.translate(words, env)
            status = self._attend(pid, words, env, streams)
            for role in ("out", "err"):
                try:
                    streams[role].shutdown(socket.SHUT_WR)
                except OSError:
                    pass  # the stand-in has ended before
            control.sendall(b"%d" % status)
        except (OSError, struct.error):
            pass  # the stand-in has ended before
        finally:
            for stream in streams.values():
                stream.close()
            self.running.pop(threading.current_thread(), None)

    def _attend(self, pid, words, env, streams):
        """Until the program ends; returns its exit code, or the signal that ended it, as the host
        gives it to those that it ends."""
        try:
            process = subprocess.Popen(words, env=env, stdin=streams["in"], stdout=streams["out"],
                                       stderr=streams["err"], start_new_session=True)
        except OSError as error:
            streams["err"].sendall(("%s\n" % error).encode())
            return 127
        self.running[threading.current_thread()] = self.programs[pid] = process.pid
        streams["in"].close()
        fd = os.pidfd_open(process.pid)
        try:
            control = streams["control"]
            watched = [fd, control]
            while fd not in select.select(watched, [], [])[0]:
                word = control.recv(1)
                os.killpg(process.pid, signal.SIGTERM if word else signal.SIGKILL)
                if not word:
                    watched = [fd]
        finally:
            os.close(fd)
            self.programs.pop(pid)
        status = process.wait()
        return status if status >= 0 else -status

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.acceptor.join()
        self.listener.close()

    def kill(self, pid):
        """Ends the program behind a stand-in, and that with it, so that who starts it anew does not meet it."""
        program = self.programs.get(pid)
        if program:
            os.killpg(program, signal.SIGKILL)
        return program is not None

    def pids(self):
        """Our children, whose ends are noticed here."""
        return [pid for pid in list(self.running.values()) if pid]

    def wait(self, limit):
        """For all of them to be over, also those that did not get as far as their program."""
        with socket.create_connection(("127.0.0.1", self.port)) as last:  # all who have come before are let in before
            last.sendall(b"wait 0\n")
            last.recv(1)
        for thread in list(self.running):
            thread.join(limit)
        for pid, streams in list(self.waiting.items()):
            if all(_has_ended(stream) for stream in streams.values()):
                for stream in self.waiting.pop(pid).values():
                    stream.close()


def _line(connection):
    data = b""
    while not data.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte:
            raise EOFError
        data += byte
    return data.decode()


def _has_ended(connection):
    """Whether nobody is at its other end any more. Of who was killed that shows a moment later."""
    try:
        return bool(select.select([connection], [], [], ENDING)[0]) and not connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return True


def _word(file):
    data = b""
    while (byte := file.read(1)) not in (b"\0", b""):
        data += byte
    return data.decode(errors="surrogateescape")
