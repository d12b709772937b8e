"""F4: many that start at once, each in a place of its own, wish for the same ports: each gets a pair."""
import contextlib
import json

import pytest

from harness import Process, free_range
from tether import SERVER, Instance

JOBS = 12


@pytest.mark.parametrize("command", [(), ("--", SERVER)], ids=["own", "other"])
def test_F4_starts_at_once_take_a_pair_each(tmp_path, command):
    ports = free_range(4 * JOBS), free_range(4 * JOBS)
    results = []
    with contextlib.ExitStack() as stack:
        places = [tmp_path / str(number) for number in range(JOBS)]
        starts = []
        for place in places:
            place.mkdir(mode=0o700)
            it = Instance(str(place), ports=ports)
            starts.append(stack.enter_context(Process(it.argv("launch", "--ports", "auto", *command), it.env)))
        try:
            for start in starts:
                start.wait()
                results.append(json.loads(start.output.splitlines()[-1]))
        finally:
            for place, result in zip(places, results):
                Instance(str(place), ports=(result["http_port"], result["ws_port"])).cli("stop", "--force")
    assert [result["result"] for result in results] == ["started"] * JOBS, results
    assert len({port for result in results for port in (result["http_port"], result["ws_port"])}) == 2 * JOBS
