"""H7: systems where processes of a server may get away, as on macOS: what cannot be promised is not begun, and told."""
import on_linux
from harness import Process
from tether import SERVER, Instance, http_get

ANYWAY = {"TETHER_UNCERTAIN_TREE": "on"}


def test_H7_a_command_is_refused_with_a_clear_word(state_dir):
    with Instance(state_dir, program=on_linux.UNCERTAIN) as it:
        result = it.launch()
        assert result["code"] == 1 and result["result"] == "failed"
        assert SERVER in result["message"] and "nobody can promise" in result["message"]
        assert "TETHER_UNCERTAIN_TREE=on" in result["message"]
        for value in ("off", "0", "", "false"):
            assert it.launch(env={"TETHER_UNCERTAIN_TREE": value})["code"] == 1
        with it.run() as process:
            assert process.wait() == 1 and result["message"] in process.output
        assert it.cli("status").status == 5


def test_H7_a_command_is_started_for_who_does_without_the_promise(state_dir):
    with Instance(state_dir, program=on_linux.UNCERTAIN) as it:
        assert it.launch(env=ANYWAY)["code"] == 0
        assert http_get(it.http)[0] == 200
        assert it.launch()["result"] == "adopted"


def test_H7_tethers_own_server_starts_nothing_that_could_get_away(state_dir):
    with Instance(state_dir, program=on_linux.UNCERTAIN) as it, Process(it.argv("run"), it.env) as process:
        process.expect("server ready")
        assert http_get(it.http, "/status")[0] == 200
