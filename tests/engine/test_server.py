"""TetherServer in one editor that all these tests share."""
import os

import pytest

from plugin_scene import Scene, keep, unkeep


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scene")
    os.mkdir(folder / "state", 0o700)
    scene = keep(Scene(str(folder / "p"), str(folder / "state")))
    yield scene
    unkeep(scene)
    try:
        assert scene.quit() == []
    finally:
        scene.close()


def test_A1_server_starts_stops_and_starts_again(scene):
    server = scene.server("plain")
    first = server.start()
    assert first > 0
    server.stop()
    second = server.start()
    assert second != first
    server.stop()
    assert server.ports_are_free()
