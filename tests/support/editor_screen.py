"""On a screen without a window manager: who has the keyboard, the editor or a window of ours, and what is shown."""
import ctypes
import ctypes.util

REVERT_TO_PARENT = 2


SUBSTRUCTURE_NOTIFY_MASK = 1 << 19
MAP_NOTIFY = 19
EVENT_WINDOW = 5  # where it stands in an event of windows, counted in words


class _Client:
    """Somebody else at the screen."""

    def __init__(self, display):
        self.x11 = ctypes.CDLL(ctypes.util.find_library("X11") or "libX11.so.6")
        self.x11.XOpenDisplay.restype = ctypes.c_void_p
        self.display = ctypes.c_void_p(self.x11.XOpenDisplay(display.encode()))
        assert self.display.value, "no display " + display
        self.x11.XDefaultRootWindow.restype = ctypes.c_ulong
        self.root = ctypes.c_ulong(self.x11.XDefaultRootWindow(self.display))

    def close(self):
        self.x11.XCloseDisplay(self.display)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Shown(_Client):
    """Hears of every window that comes onto the screen, however soon it goes."""

    def __init__(self, display):
        super().__init__(display)
        self.x11.XSelectInput(self.display, self.root, ctypes.c_long(SUBSTRUCTURE_NOTIFY_MASK))
        self.x11.XSync(self.display, 0)

    def windows(self):
        """Those that have come since it was asked last."""
        self.x11.XSync(self.display, 0)
        found, event = [], (ctypes.c_long * 24)()
        while self.x11.XPending(self.display):
            self.x11.XNextEvent(self.display, ctypes.byref(event))
            if event[0] & 0xffffffff == MAP_NOTIFY:
                found.append(event[EVENT_WINDOW])
        return found


class Focus(_Client):
    """A second client of the screen, with a small window that can take the keyboard away."""

    def __init__(self, display):
        super().__init__(display)
        self.x11.XCreateSimpleWindow.restype = ctypes.c_ulong
        self.window = self.x11.XCreateSimpleWindow(self.display, self.root, 0, 0, 8, 8, 0,
                                                   ctypes.c_ulong(0), ctypes.c_ulong(0))
        self.x11.XMapRaised(self.display, ctypes.c_ulong(self.window))
        self.x11.XSync(self.display, 0)

    def move(self, window=None):
        """Gives the keyboard to a window, or to ours."""
        self.x11.XSetInputFocus(self.display, ctypes.c_ulong(int(window or self.window)), REVERT_TO_PARENT,
                                ctypes.c_ulong(0))
        self.x11.XSync(self.display, 0)
