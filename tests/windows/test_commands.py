"""What only Windows has of the launcher's commands: how a server is asked to end there, how it gets its listeners,
how programs are found and their words quoted, and programs in use. Rows G4, G6, G7, G9."""
import json
import os
import shutil
import threading

import pytest

from harness import TETHER, Process, run, system
from scene import wait_until
from tether import SERVER, Instance, http_get

PATIENT = ["--stop-grace-ms", 60000]  # so that whoever is not heard is not ended by it
ONCE = ["--ready", "none", "--restart", "never"]
CMD = r"C:\windows\system32\cmd.exe"


def launch_built_in(it):
    it.result = json.loads(it.cli("launch").output.splitlines()[-1])
    return it.result


def stop(it):
    assert it.cli("stop").status == 0
    it.wait_end()


def run_once(it, *words, env=None, **options):
    """`tether run` with these words as they are, whatever they mean here; its process, when it has ended."""
    return run(it.argv("run", *ONCE, "--", *words), {**it.env, **(env or {})}, **options)


def path_with(folder):
    return {"PATH": r"%s;C:\windows\system32" % system.native(folder)}


# ---- G4: an end in order -------------------------------------------------------------------------

@pytest.mark.parametrize("how", [["--exit-on-stdin-eof", "--ignore-term"], []], ids=["input", "interrupt"])
def test_G4_a_server_that_is_asked_ends_in_order_and_the_daemon_lives_on(state_dir, how):
    """By the end of its input, or, where it takes no notice of that, by Ctrl-C in the hidden console."""
    with Instance(state_dir, *PATIENT) as it:
        first = it.launch(command=[SERVER, *how])
        assert it.cli("restart").status == 0
        status = it.status()
        assert (status["daemon"]["pid"], status["state"]) == (first["daemon_pid"], "ready")
        assert status["server"]["pid"] != first["server_pid"]
        stop(it)
        assert it.log().count("server exited with code 0") == 2


def test_G4_a_server_that_interrupts_all_at_its_console_ends_no_daemon(state_dir):
    """As some do to restart their own processes; nobody types at a hidden console."""
    with Instance(state_dir, "--stop-grace-ms", 500) as it:
        result = it.launch(command=[SERVER, "--ignore-term", "--interrupts"])
        with Process(it.argv("logs", "-f"), it.env) as follower:
            follower.expect("an interrupt came")
        status = it.status()
        assert (status["state"], status["server"]["pid"]) == ("ready", result["server_pid"])
        assert "stopping" not in it.log()


NODE_SERVER = """
const [how] = process.argv.slice(2);
for (const name of ["TETHER_HTTP_PORT", "TETHER_WS_PORT"])
    require("http").createServer((_, answer) => answer.end("node")).listen(process.env[name], "127.0.0.1");
const leave = (why) => process.stdout.write("asked by " + why + "\\n", () => process.exit(0));
if (how === "input") { process.stdin.resume(); process.stdin.on("end", () => leave("input")); }
process.on("SIGINT", () => how === "interrupt" && leave("interrupt"));
"""


@pytest.mark.parametrize("how", ["input", "interrupt"])
def test_G4_a_server_of_Node_ends_in_order(state_dir, tmp_path, how):
    node = os.environ.get("TETHER_WINDOWS_NODE", "")
    if not os.path.exists(node):
        pytest.skip("Node.js for Windows is fetched by `./dev test windows`")
    script = tmp_path / "server.js"
    script.write_text(NODE_SERVER)
    with Instance(state_dir, *PATIENT) as it:
        result = it.launch(command=[system.native(node), system.native(script), how],
                           env={"NODE_SKIP_PLATFORM_CHECK": "1"})  # Wine says that it is an old Windows
        assert result["result"] == "started", result
        assert http_get(it.http)[1].endswith(b"node")
        stop(it)
        assert "asked by " + how in it.log("server.log")
        assert "server exited with code 0" in it.log()
        assert it.ports_are_free()


def test_G4_a_server_with_a_window_is_asked_to_close_it(state_dir):
    """In the middle of the grace, when it took no notice of anything else."""
    with Instance(state_dir, "--stop-grace-ms", 20000) as it:
        it.launch(command=[SERVER, "--ignore-term", "--window"])
        stop(it)
        assert "closed" in it.log("server.log")
        assert "server exited with code 0" in it.log()


# ---- G6: listeners -------------------------------------------------------------------------------

def test_G6_a_restart_refuses_no_connection(state_dir):
    over, refused, answered = threading.Event(), [], []

    def connect_again_and_again():
        while not over.is_set():
            try:
                answered.append(http_get(it.http, "/status")[0])
            except OSError as why:
                refused.append(why)

    with Instance(state_dir) as it:
        launch_built_in(it)
        thread = threading.Thread(target=connect_again_and_again)
        thread.start()
        try:
            for _ in range(3):
                before = len(answered)
                assert it.cli("restart").status == 0
                wait_until(lambda: len(answered) > before + 1, "somebody has connected meanwhile")
        finally:
            over.set()
            thread.join()
        assert set(answered) == {200}
        assert refused == []


# ---- G7: programs and their words ----------------------------------------------------------------

@pytest.mark.parametrize("word", ['a"&echo INJECTED', "a&echo INJECTED", "a|echo INJECTED", "a^&echo INJECTED",
                                  '"&echo INJECTED&"', "a b", "%COMSPEC%", ""])
def test_G7_a_batch_file_gets_its_words_and_runs_nothing_else(state_dir, tmp_path, word):
    batch = tmp_path / "a folder" / "some server.cmd"
    batch.parent.mkdir()
    batch.write_bytes(b"@echo off\r\necho it was run\r\n")
    done = run_once(Instance(state_dir), system.native(batch), word)
    assert "it was run" in done.output
    assert not [line for line in done.output.splitlines() if line.strip() == "INJECTED"], done.output


def test_G7_a_batch_file_gets_no_word_of_two_lines(state_dir, tmp_path):
    batch = tmp_path / "server.cmd"
    batch.write_bytes(b"@echo off\r\necho it was run\r\n")
    with Instance(state_dir) as it:
        result = it.launch(command=[system.native(batch), "a\necho INJECTED"])
        assert result["result"] == "failed"
        assert "a batch file gets no words of more than one line" in result["message"]


@pytest.mark.parametrize("name", ["npx", "npm"])
def test_G7_npx_and_npm_are_run_without_a_shell(state_dir, tmp_path, name):
    """Beside them lies what they would run: node.exe with a script."""
    folder = tmp_path / "node js"
    scripts = folder / "node_modules" / "npm" / "bin"
    scripts.mkdir(parents=True)
    (folder / (name + ".cmd")).write_bytes(b"@echo off\r\necho it was a shell\r\n")
    shutil.copy(system.local(SERVER), folder / "node.exe")
    script = scripts / (name + "-cli.js")
    script.write_bytes(b"")
    done = run_once(Instance(state_dir), name, "-y", 'a"&b', "%PATH%", env=path_with(folder))
    assert "it was a shell" not in done.output
    # The server stands in for node.exe, and complains of the script's name.
    assert "unknown option %s:" % system.native(script) in done.output, done.output


def test_G7_a_program_is_found_by_PATH_and_PATHEXT_but_not_where_we_are(state_dir, tmp_path):
    folder = tmp_path / "on the path"
    folder.mkdir()
    shutil.copy(system.local(SERVER), folder / "companion.exe")
    shutil.copy(system.local(SERVER), tmp_path / "elsewhere.exe")
    it = Instance(state_dir)
    for name, text in (("companion", "exited with code 3"), ("elsewhere", "there is no such program")):
        done = run_once(it, name, "--exit", "3", env=path_with(folder), cwd=tmp_path)
        assert done.status == 1 and text in done.output, done.output


def test_G7_a_state_folder_of_more_than_400_characters(tmp_path):
    """Wine starts no program from there, so the server is elsewhere."""
    deep = tmp_path
    while len(str(deep)) < 420:
        deep = deep / "a folder \u00e4\u20ac\u0436 of more than a few characters in its name"
    deep.mkdir(parents=True, mode=0o700)
    with Instance(str(deep)) as it:
        result = it.launch()
        assert result["result"] == "started", result["message"]
        assert "server up" in it.cli("logs").output
        stop(it)
        assert "no process is left, both ports are free" in it.log()


def test_G7_blanks_and_letters_of_any_alphabet_are_kept(state_dir, tmp_path):
    path = tmp_path / "a folder \u00e4\u20ac\u0436" / "ser ver.exe"
    path.parent.mkdir()
    shutil.copy(system.local(SERVER), path)
    words = [system.native(path), "--say", "w\u00e4\u20ac, said a server"]
    with Instance(state_dir) as it:
        it.launch(command=words)
        assert it.status()["server"]["command"] == words
        assert words[-1] in it.cli("logs").output


# ---- G9: programs in use -------------------------------------------------------------------------

def test_G9_an_update_while_the_old_program_runs(state_dir, tmp_path):
    """The daemon's program cannot be overwritten but renamed; its daemon goes on with what lies in its
    place, and the next start removes what is not in use any more."""
    program, aside, kept = (tmp_path / name for name in ("tether.exe", "tether.exe.old-1", "tether.exe.old-notes"))
    shutil.copy(system.local(TETHER), program)
    kept.write_text("of a person")

    def overwrite():
        return run([CMD, "/c", "copy", "/y", TETHER, system.native(program)])

    with Instance(state_dir, program=system.native(program)) as it:
        first = launch_built_in(it)
        refused = overwrite()
        assert refused.status != 0, refused.output  # or the rest shows nothing
        program.rename(aside)
        shutil.copy(system.local(TETHER), program)
        assert it.cli("restart").status == 0
        assert it.status()["daemon"]["pid"] == first["daemon_pid"]
        assert launch_built_in(it)["result"] == "adopted"
        assert aside.exists()
        stop(it)
        assert launch_built_in(it)["result"] == "started"
        assert sorted(path.name for path in tmp_path.glob("tether.exe*")) == ["tether.exe", kept.name]
        stop(it)
        assert overwrite().status == 0
