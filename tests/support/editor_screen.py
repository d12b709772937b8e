"""Who has the keyboard on a screen without a window manager: the editor, or a window of ours."""
import ctypes
import ctypes.util

REVERT_TO_PARENT = 2


class Focus:
    """A second client of the screen, with a small window that can take the keyboard away."""

    def __init__(self, display):
        self.x11 = ctypes.CDLL(ctypes.util.find_library("X11") or "libX11.so.6")
        self.x11.XOpenDisplay.restype = ctypes.c_void_p
        self.display = ctypes.c_void_p(self.x11.XOpenDisplay(display.encode()))
        assert self.display.value, "no display " + display
        self.x11.XDefaultRootWindow.restype = ctypes.c_ulong
        self.x11.XCreateSimpleWindow.restype = ctypes.c_ulong
        root = self.x11.XDefaultRootWindow(self.display)
        self.window = self.x11.XCreateSimpleWindow(self.display, ctypes.c_ulong(root), 0, 0, 8, 8, 0,
                                                   ctypes.c_ulong(0), ctypes.c_ulong(0))
        self.x11.XMapRaised(self.display, ctypes.c_ulong(self.window))
        self.x11.XSync(self.display, 0)

    def move(self, window=None):
        """Gives the keyboard to a window, or to ours."""
        self.x11.XSetInputFocus(self.display, ctypes.c_ulong(int(window or self.window)), REVERT_TO_PARENT,
                                ctypes.c_ulong(0))
        self.x11.XSync(self.display, 0)

    def close(self):
        self.x11.XCloseDisplay(self.display)
