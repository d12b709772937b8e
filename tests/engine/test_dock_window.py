"""The dock as a person sees it: in the window of an editor that draws, by what is on the screen."""
from editor_screen import Shown
from harness import system, wait_gone
from scene import wait_until
from test_dock_real import Addon
from test_not_started import with_window
from tools_probe import Display

ENOUGH = 20  # pixels of a word in one colour

# Where the dock's headline is on the screen, and the colours that it can have.
HEADLINE = """
var label: Label = frame.find_children("*", "Label", true, false).filter(
		func(each: Label) -> bool: return each.text == "%s" and each.is_visible_in_tree())[0]
var place := Rect2i(label.get_global_rect())
place.position += DisplayServer.window_get_position()
var theme: Theme = EditorInterface.get_editor_theme()
var colors: Array = ["success_color", "error_color"].map(func(name: String) -> Array:
	var color: Color = theme.get_color(name, "Editor")
	return [color.r8, color.g8, color.b8])
return [place.position.x, place.position.y, place.size.x, place.size.y, colors]"""


def in_window(folder, arguments, env):
    """There where nobody is who could maximise it."""
    return with_window(folder, ["--windowed", "--position", "0,0", "--resolution", "1280x760", *arguments], env)


class Seen:
    """How much of the headline is in the colours of what is good, and of what is bad."""

    def __init__(self, display, addon, words):
        *self.place, colors = addon.run(HEADLINE % words)
        self.good, self.bad = map(tuple, colors)
        self.display = display

    def count(self, color):
        return sum(all(abs(a - b) < 12 for a, b in zip(pixel, color)) for pixel in self.display.pixels(*self.place))


def test_A1_G7_H1_the_dock_in_a_window_shows_what_the_server_does_and_nothing_else_comes(tmp_path):
    with Display(folder=str(tmp_path)) as display, system.on_screen(display.name), Shown(display.name) as shown:
        with Addon(str(tmp_path), command=in_window, TETHER_HEADLESS="", DISPLAY=display.name) as addon:
            addon.scene.settle()
            assert "Running" in addon.wait_state("ready")
            seen = Seen(display, addon, "Running")
            wait_until(lambda: seen.count(seen.good) > ENOUGH, "the word is on the screen, in green")
            assert seen.count(seen.bad) == 0
            shown.windows()  # those of the editor's own start
            daemon = addon.pid_of("daemon")
            addon.press("Stop the server")
            assert "Stopped" in addon.wait_state("stopped")
            wait_until(lambda: seen.count(seen.good) == 0, "it is gone")
            wait_gone(daemon)
            addon.start()
            wait_until(lambda: seen.count(seen.good) > ENOUGH, "and there again")
            addon.stop()
            addon.set([system.native(tmp_path / "none")])
            addon.run("control.start()")
            assert "Failed" in addon.wait_state("failed")
            seen = Seen(display, addon, "Failed")
            wait_until(lambda: seen.count(seen.bad) > ENOUGH, "what is wrong is on the screen, in red")
            assert shown.windows() == []
            addon.close()
