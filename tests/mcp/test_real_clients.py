"""I2, K1: AI clients as people have them, from npm, with a real editor and a model that says what we want it to say.

What they do is in tests/support/client_lab.py, in a network in which there is nothing else; here it is judged. All of it
is done once, for to start clients and editors is what takes the time."""
import pytest

from real_clients import CLIENTS
from real_sessions import hold_sessions, why_not

TOOLS = 50  # there are more, with and without an editor


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    why = why_not()
    return why if why else hold_sessions(str(tmp_path_factory.mktemp("clients")))


@pytest.fixture
def session(sessions, client, transport):
    if isinstance(sessions, str):
        pytest.skip(sessions)
    found, missing = sessions
    if client in dict(missing):
        pytest.skip(dict(missing)[client])
    return found[client][transport]


def check_steps(held):
    assert not held["wrong"], (held["wrong"], held["output"])
    failed = [step for step in held["steps"] if not step["ok"]]
    assert not failed, (failed, held["output"])
    assert held["status"] == 0, held["output"]


# Which may put their first question together while they still connect, on a busy machine: it is without instructions.
HASTY = [("claude", "http")]


def check_sight(steps, client, transport):
    """What the model had before its eyes at each step."""
    shown = [(step["tools"], step["instructions"]) for step in steps]
    assert min(tools for tools, _ in shown) >= TOOLS and len({tools for tools, _ in shown}) == 1, shown
    assert all(instructions for _, instructions in shown[(client, transport) in HASTY:]), shown


@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.parametrize("client", CLIENTS)
class TestRealClients:
    def test_I2_it_says_that_it_is_connected(self, session, client, transport):
        assert session["check"]["ok"], session["check"]["said"]

    def test_I2_it_works_also_through_the_death_of_the_editor(self, session, client, transport):
        """Its calls are served as they should be, the editor is killed, and the next one serves the rest."""
        check_steps(session["work"])

    def test_I2_nothing_is_lost_by_that(self, session, client, transport):
        """Neither tools nor instructions, at no time."""
        check_sight(session["work"]["steps"], client, transport)

    def test_I2_it_may_come_before_the_editor(self, session, client, transport):
        """It sees everything, is told what to do, and is served as soon as somebody has done it."""
        check_steps(session["first"])
        check_sight(session["first"]["steps"], client, transport)


@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.parametrize("client", [name for name, kind in CLIENTS.items() if kind.visits])
def test_K1_it_calls_a_server_of_others(session, client, transport):
    """One that speaks over standard input and output, with an address of Tether's, or watched by it."""
    check_steps(session["stranger"])
