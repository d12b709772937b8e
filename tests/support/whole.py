"""Everything at once: a real editor with the whole addon, its own server, and a client of it."""
import os

import plugin_scene
from harness import Process, free_ports
from mcp_client import McpClient, McpError, ToolFailed
from scene import wait_until
from tether import Instance

# The editor does not pass its own --headless on to the game.
HEADLESS_GAME = '\n[editor]\n\nrun/main_run_args="--headless"\n'
OWN_TOOLS = {"editors_list", "editor_select"}  # the server's, with or without an editor


class Whole:
    """An editor with addon and driver; ends its server, too. Several may share ports and state."""

    def __init__(self, folder, name="p", ports=None, settings=HEADLESS_GAME, fill=None, env=()):
        self.ports = ports or free_ports()
        self.state_dir = os.path.join(folder, "state")
        os.makedirs(self.state_dir, 0o700, exist_ok=True)
        self.project = plugin_scene.make_project(os.path.join(folder, name), ("tether", "driver"), title=name)
        with open(os.path.join(self.project, "project.godot"), "a") as file:
            file.write(settings)
        if fill:
            fill(self.project)
        self.instance = Instance(self.state_dir, ports=self.ports)
        self.scene = plugin_scene.Scene(self.project, self.state_dir, plugins=("tether", "driver"),
                                        env={"TETHER_HTTP_PORT": str(self.ports[0]),
                                             "TETHER_WS_PORT": str(self.ports[1]), **dict(env)})
        self.scene.settle()

    def run(self, code):
        """What a piece of GDScript in the editor returns."""
        return self.scene.run(code)

    def client(self):
        """A client, once the tools are there."""
        try:
            client = wait_until(self._try_client, "the server answers")
        except TimeoutError as error:
            raise TimeoutError("%s\n%s\n%s" % (error, self.scene.process.output[-2000:], self._log())) from None
        wait_until(lambda: any(editor["tools"] for editor in client.call("editors_list")["editors"]),
                   "the editor's tools are there")
        return client

    def _log(self):
        try:
            return self.instance.log()
        except FileNotFoundError:
            return "there was no daemon"

    def _try_client(self):
        try:
            return McpClient(self.ports[0])
        except OSError:
            return None

    def path(self, path):
        return os.path.join(self.project, path.removeprefix("res://"))

    def close(self):
        """Closes the editor and returns its complaints."""
        return self.scene.quit()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.scene.close()


def until(client, tool, wanted, **arguments):
    """Asks a tool again and again until its answer is as wanted: for states without an event."""
    return wait_until(lambda: (lambda answer: answer if wanted(answer) else None)(client.call(tool, **arguments)),
                      "%s is as wanted" % tool)


def steadily(call):
    """Calls until it succeeds, while a server comes back; any answer but its own success may come meanwhile."""
    def attempt():
        try:
            return call()
        except (OSError, EOFError, McpError, ToolFailed, AssertionError):
            return None
    return wait_until(attempt, "it works again")


__all__ = ["McpClient", "McpError", "OWN_TOOLS", "Process", "ToolFailed", "Whole", "steadily", "until"]
