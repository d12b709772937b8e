"""Every command of tether.exe, on real processes and ports, under Wine. Rows G1, G2, G4, G6, G7."""
import json
import os
import shutil
import socket
import threading

import pytest

from harness import LIMIT
from tether import http_get
from wine import SERVER, TETHER_EXE, WineInstance, windows_path


def server_bytes():
    with open(SERVER, "rb") as file:
        return file.read()


def test_G1_a_server_is_launched_asked_after_and_stopped(instance):
    result = instance.launch()
    assert (result["result"], result["code"]) == ("started", 0)
    status = instance.status()
    assert status["state"] == "ready"
    assert status["daemon"]["pid"] == result["daemon_pid"]
    assert status["why"] == "no owner was given; `tether stop` ends it"
    assert int(http_get(instance.http)[1].split(b"\r\n\r\n")[1]) == result["server_pid"]
    assert "stopped" in instance.cli("stop").output
    instance.wait_end()
    assert instance.ports_are_free()
    assert instance.cli("status").status == 5
    assert "no process is left, both ports are free" in instance.log()


def test_G1_an_owner_that_is_killed_leaves_free_ports(instance, wine):
    pid, start = wine.owner()
    result = instance.launch("--owner-pid", pid, "--owner-start", start)
    assert result["result"] == "started"
    assert instance.status()["why"] == "owner %d lives" % pid
    wine.kill(pid)
    instance.wait_end()
    assert not wine.left_of([result["server_pid"]], 0)
    assert instance.ports_are_free()
    assert "owner %d" % pid in instance.log()


def test_G1_a_second_owner_adopts_and_keeps_what_runs(instance, wine):
    first, first_start = wine.owner()
    second, second_start = wine.owner()
    started = instance.launch("--owner-pid", first, "--owner-start", first_start)
    adopted = instance.launch("--owner-pid", second, "--owner-start", second_start)
    assert (adopted["result"], adopted["server_pid"]) == ("adopted", started["server_pid"])
    wine.kill(first)
    assert len(instance.status()["sessions"]) == 1
    wine.kill(second)
    instance.wait_end()
    assert instance.ports_are_free()


def test_G1_of_launches_at_once_one_starts_and_the_others_adopt(instance):
    results = []
    threads = [threading.Thread(target=lambda: results.append(json.loads(
        instance.cli("launch", "--", windows_path(SERVER)).output.splitlines()[-1]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    instance.result = results[0]
    assert sorted(result["result"] for result in results) == ["adopted"] * 3 + ["started"]
    assert len({result["server_pid"] for result in results}) == 1


def escaped(instance, path, *words, how="escape"):
    """Launches a server that starts a child in each way, and returns their pids by their kinds."""
    instance.launch(command=(windows_path(SERVER), *words, how, windows_path(path)))
    with open(path) as file:
        return {kind: int(pid) for kind, pid in (line.split() for line in file)}


KINDS = ["away", "console", "detached", "group", "nested", "orphan", "plain", "root", "silent", "window"]


@pytest.mark.parametrize("end", ["stop", "owner", "daemon", "server"])
def test_G2_nobody_gets_out_of_the_tree(instance, wine, tmp_path, end):
    owner, start = wine.owner()
    instance.options += ["--owner-pid", owner, "--owner-start", start, "--stop-grace-ms", 500,
                         "--restart", "never"]
    pids = escaped(instance, str(tmp_path / "pids"), "deaf")
    assert sorted(pids) == KINDS
    assert pids.pop("away") == 0  # it may not even start
    assert sorted(wine.left_of(pids.values(), 0)) == sorted(pids.values())
    if end == "stop":
        assert instance.cli("stop", "--force").status == 0
    else:
        wine.kill({"owner": owner, "daemon": instance.result["daemon_pid"], "server": pids["root"]}[end])
    assert not wine.left_of(pids.values())
    instance.wait_end()
    assert instance.ports_are_free()
    if end != "owner":
        wine.kill(owner)


def test_G2_who_has_itself_fostered_outside_is_told_of(instance, wine, tmp_path):
    """The one way out that a job does not close: to be started with somebody outside as parent."""
    owner, start = wine.owner()
    instance.options += ["--owner-pid", owner, "--owner-start", start, "--stop-grace-ms", 500]
    pids = escaped(instance, str(tmp_path / "pids"), "deaf", how="foster")
    fostered = pids.pop("fostered")
    assert fostered
    instance.cli("stop", "--force")
    instance.wait_end()
    pids.pop("away")
    assert not wine.left_of(pids.values())
    assert instance.ports_are_free()
    told = instance.cli("doctor").output
    wine.kill(fostered)
    wine.kill(owner)
    assert str(fostered) in told, told


@pytest.mark.parametrize("kind", ["keep", "free"])
def test_G2_a_job_of_others_is_left_if_it_may_be(instance, kind):
    """Or else the daemon ends with it, and so does its server. (That it says so is tested by os_calls.c.)"""
    with instance.launch_in_job(kind) as job:
        job.popen.stdin.close()
        if kind == "keep":
            instance.wait_end()
            assert not instance.wine.left_of([instance.result["server_pid"]])
            assert instance.ports_are_free()
        else:
            job.popen.wait(LIMIT)
            assert instance.status()["state"] == "ready"


def test_G1_what_a_killed_daemon_left_is_told_and_started_anew(instance, wine):
    first = instance.launch()
    wine.kill(first["daemon_pid"])
    assert not wine.left_of([first["server_pid"]])
    assert instance.cli("status").status == 5
    again = instance.launch()
    assert again["result"] == "started"
    assert again["server_pid"] != first["server_pid"]


def test_G1_a_server_that_crashes_is_started_again(instance, wine):
    result = instance.launch()
    wine.kill(result["server_pid"])
    with instance.watch() as watch:
        state = watch.until(lambda state: state["restarts"] == 1 and state["state"] == "ready")
    assert state["server"]["pid"] != result["server_pid"]
    assert int(http_get(instance.http)[1].split(b"\r\n\r\n")[1]) == state["server"]["pid"]
    assert "exited with code 9" in instance.log()


def test_G1_the_log_is_shown(instance):
    instance.launch(command=(windows_path(SERVER), "say", "w\u00e4\u20ac, said a server"))
    shown = instance.cli("logs", "-n", 10)
    assert shown.status == 0
    assert "server up pid %d" % instance.result["server_pid"] in shown.output


def test_G1_logs_are_rotated_while_somebody_follows_them(instance):
    """More than the three files of a megabyte each that are kept; a reader misses nothing of the end."""
    instance.launch(command=(windows_path(SERVER), "flood", "3000"))
    with instance.follow() as follower:
        follower.expect("server up")
        assert instance.cli("restart").status == 0
        follower.expect("flood over")
    sizes = {name: os.path.getsize(os.path.join(instance.directory, name))
             for name in os.listdir(instance.directory) if name.startswith("server.log")}
    assert sorted(sizes) == ["server.log", "server.log.1", "server.log.2"]
    assert max(sizes.values()) <= 1 << 20 < sum(sizes.values())


def test_G1_doctor_and_sweep_tell_what_is_there(instance):
    instance.launch()
    report = json.loads(instance.cli("doctor", "--json").output.splitlines()[-1])
    assert report["findings"], report
    assert instance.cli("doctor").status == 0
    assert instance.cli("sweep").status == 0
    assert instance.status()["state"] == "ready"


def test_G1_a_port_of_a_stranger_is_left_to_it(instance):
    with socket.create_server(("127.0.0.1", instance.http)):
        result = instance.launch()
        assert (result["result"], result["code"]) == ("failed", 3)
        assert str(instance.http) in result["message"]
    assert instance.launch()["result"] == "started"


def test_G1_run_shows_the_log_and_ends_with_its_server(instance):
    with instance.run("--ready", "none", "--restart", "never",
                      command=(windows_path(SERVER), "say", "hello", "exit", "3", "0")) as run_:
        assert run_.wait() == 1
        assert "hello" in run_.output
        assert "exited with code 3" in run_.output


@pytest.mark.parametrize("words", [[], ["no-input"]])
def test_G4_a_server_that_is_asked_ends_in_order_and_the_daemon_lives_on(instance, words):
    """By the end of its input, or, where it takes no notice of that, by Ctrl-C in the hidden console."""
    first = instance.launch("--stop-grace-ms", 20000, command=(windows_path(SERVER), *words))
    assert instance.cli("restart").status == 0
    status = instance.status()
    assert (status["daemon"]["pid"], status["state"]) == (first["daemon_pid"], "ready")
    assert status["server"]["pid"] != first["server_pid"]
    instance.cli("stop")
    instance.wait_end()
    assert instance.log().count("server exited with code 0") == 2
    if words:
        assert instance.log("server.log").count("interrupted") == 2


def test_G4_a_server_that_hears_nothing_is_ended_after_the_grace(instance):
    instance.launch("--stop-grace-ms", 500, command=(windows_path(SERVER), "deaf"))
    instance.cli("stop")
    instance.wait_end()
    assert "server exited with code 1" in instance.log()
    assert instance.ports_are_free()


def test_G4_a_server_that_interrupts_all_at_its_console_ends_no_daemon(instance):
    """As some do to restart their own processes; nobody types at a hidden console."""
    result = instance.launch("--stop-grace-ms", 500, command=(windows_path(SERVER), "interrupts"))
    with instance.follow() as follower:
        follower.expect("an interrupt came")
    status = instance.status()
    assert (status["state"], status["server"]["pid"]) == ("ready", result["server_pid"])
    assert "stopping" not in instance.log()


NODE_SERVER = """
const [how] = process.argv.slice(2);
for (const name of ["TETHER_HTTP_PORT", "TETHER_WS_PORT"])
    require("http").createServer((_, answer) => answer.end("node")).listen(process.env[name], "127.0.0.1");
const leave = (why) => process.stdout.write("asked by " + why + "\\n", () => process.exit(0));
if (how === "input") { process.stdin.resume(); process.stdin.on("end", () => leave("input")); }
process.on("SIGINT", () => how === "interrupt" && leave("interrupt"));
"""


@pytest.mark.parametrize("how", ["input", "interrupt"])
def test_G4_a_server_of_Node_ends_in_order(instance, tmp_path, how):
    node = os.environ.get("TETHER_WINDOWS_NODE", "")
    if not os.path.exists(node):
        pytest.skip("Node.js for Windows is fetched by `./dev test windows`")
    script = tmp_path / "server.js"
    script.write_text(NODE_SERVER)
    result = instance.launch("--stop-grace-ms", 20000, command=(windows_path(node), windows_path(script), how),
                             env={"NODE_SKIP_PLATFORM_CHECK": "1"})
    assert result["result"] == "started", result
    assert http_get(instance.http)[1].endswith(b"node")
    instance.cli("stop")
    instance.wait_end()
    assert "asked by " + how in instance.log("server.log")
    assert "server exited with code 0" in instance.log()
    assert instance.ports_are_free()


def test_G4_a_server_with_a_window_is_asked_to_close_it(instance):
    """In the middle of the grace, when it took no notice of anything else."""
    instance.launch("--stop-grace-ms", 20000, command=(windows_path(SERVER), "deaf", "window"))
    instance.cli("stop")
    instance.wait_end()
    assert "closed" in instance.log("server.log")
    assert "server exited with code 0" in instance.log()


def test_G6_a_restart_refuses_no_connection(instance):
    instance.launch_own()
    over, refused, answered = threading.Event(), [], []

    def connect_again_and_again():
        while not over.is_set():
            try:
                answered.append(http_get(instance.http, "/status")[0])
            except OSError as why:
                refused.append(why)

    thread = threading.Thread(target=connect_again_and_again)
    thread.start()
    try:
        for _ in range(3):
            assert instance.cli("restart").status == 0
    finally:
        over.set()
        thread.join()
    assert answered and set(answered) == {200}
    assert refused == []


@pytest.mark.parametrize("word", ['a"&echo INJECTED', "a&echo INJECTED", "a|echo INJECTED", "a^&echo INJECTED",
                                  '"&echo INJECTED&"', "a b", "%COMSPEC%", ""])
def test_G7_a_batch_file_gets_its_words_and_runs_nothing_else(instance, tmp_path, word):
    batch = tmp_path / "a folder" / "some server.cmd"
    batch.parent.mkdir()
    batch.write_bytes(b"@echo off\r\necho it was run\r\n")
    with instance.run("--ready", "none", "--restart", "never", command=(windows_path(batch), word)) as run_:
        run_.wait()
        assert "it was run" in run_.output
        assert not [line for line in run_.output.splitlines() if line.strip() == "INJECTED"], run_.output


def test_G7_a_batch_file_gets_no_word_of_two_lines(instance, tmp_path):
    batch = tmp_path / "server.cmd"
    batch.write_bytes(b"@echo off\r\necho it was run\r\n")
    result = instance.launch(command=(windows_path(batch), "a\necho INJECTED"))
    assert result["result"] == "failed"
    assert "a batch file gets no words of more than one line" in result["message"]


def test_G9_an_update_while_the_old_program_runs(wine, state_dir, tmp_path):
    """The daemon's program cannot be overwritten but renamed; its daemon goes on with what lies in its
    place, and the next start removes what is not in use any more."""
    program = tmp_path / "tether.exe"
    shutil.copy(TETHER_EXE, program)
    aside, kept = tmp_path / "tether.exe.old-1", tmp_path / "tether.exe.old-notes"
    kept.write_text("of a person")
    with WineInstance(wine, state_dir) as instance:
        instance.program = str(program)
        first = instance.launch_own()
        assert wine.ask("overwrite", windows_path(program)) == ["32"]  # or the rest shows nothing
        program.rename(aside)
        shutil.copy(TETHER_EXE, program)
        assert instance.cli("restart").status == 0
        assert instance.status()["daemon"]["pid"] == first["daemon_pid"]
        assert instance.launch_own()["result"] == "adopted"
        assert aside.exists()
        instance.cli("stop")
        instance.wait_end()
        assert instance.launch_own()["result"] == "started"
        assert sorted(path.name for path in tmp_path.glob("tether.exe*")) == ["tether.exe", kept.name]
        instance.cli("stop")
        instance.wait_end()


@pytest.mark.parametrize("name", ["npx", "npm"])
def test_G7_npx_and_npm_are_run_without_a_shell(instance, tmp_path, name):
    """Beside them lies what they would run: node.exe with a script."""
    folder = tmp_path / "node js"
    scripts = folder / "node_modules" / "npm" / "bin"
    scripts.mkdir(parents=True)
    (folder / (name + ".cmd")).write_bytes(b"@echo off\r\necho it was a shell\r\n")
    (folder / "node.exe").write_bytes(server_bytes())
    (scripts / (name + "-cli.js")).write_bytes(b"")
    with instance.run("--ready", "none", "--restart", "never", env={"WINEPATH": windows_path(folder)},
                      command=(name, "-y", 'a"&b', "%PATH%")) as run_:
        run_.wait()
        assert "it was a shell" not in run_.output
        # The server stands in for node.exe, and complains of the script's name.
        script = windows_path(scripts / (name + "-cli.js"))
        assert "server: what is '%s'?" % script in run_.output, run_.output


def test_G7_a_program_is_found_by_PATH_and_PATHEXT_but_not_where_we_are(instance, tmp_path):
    folder = tmp_path / "on the path"
    folder.mkdir()
    (folder / "companion.exe").write_bytes(server_bytes())
    (tmp_path / "elsewhere.exe").write_bytes(server_bytes())
    result = instance.launch(command=("companion", "say", "x"), env={"WINEPATH": windows_path(folder)})
    assert result["result"] == "started"
    instance.cli("stop")
    instance.wait_end()
    with instance.run("--ready", "none", "--restart", "never", cwd=tmp_path, command=("elsewhere",)) as run_:
        assert run_.wait() == 1
        assert "there is no such program" in run_.output


def test_G7_a_state_folder_of_more_than_400_characters(wine, tmp_path):
    """Wine starts no program from there, so the server is elsewhere."""
    deep = tmp_path
    while len(str(deep)) < 420:
        deep = deep / "a folder \u00e4\u20ac\u0436 of more than a few characters in its name"
    deep.mkdir(parents=True, mode=0o700)
    with WineInstance(wine, str(deep)) as instance:
        result = instance.launch()
        assert result["result"] == "started", result["message"]
        assert "server up" in instance.cli("logs").output
        instance.cli("stop")
        instance.wait_end()
        assert "no process is left, both ports are free" in instance.log()


def test_G7_blanks_and_letters_of_any_alphabet_are_kept(instance, tmp_path):
    folder = tmp_path / "a folder \u00e4\u20ac\u0436"
    folder.mkdir()
    path = folder / "ser ver.exe"
    path.write_bytes(server_bytes())
    instance.launch(command=(windows_path(path), "say", "x"))
    assert instance.status()["server"]["command"] == [windows_path(path), "say", "x"]


def test_G1_mcp_on_pipes_of_windows_reaches_the_server(instance):
    with instance.front() as front:
        def ask(number, method, **params):
            front.popen.stdin.write(json.dumps(
                {"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n")
            front.popen.stdin.flush()
            return json.loads(front.expect(r'^\{.*"id":%d\b.*\}$' % number).group())
        hello = ask(1, "initialize", protocolVersion="2025-11-25", capabilities={},
                    clientInfo={"name": "test", "version": "1"})
        assert hello["result"]["serverInfo"]["name"] == "tether"
        assert [tool["name"] for tool in ask(2, "tools/list")["result"]["tools"]]
        called = ask(3, "tools/call", name="editors_list", arguments={})
        assert called["result"]["structuredContent"] == {"editors": []}
        instance.result = {"daemon_pid": instance.status()["daemon"]["pid"]}
        front.popen.stdin.close()
        assert front.wait() == 0
    instance.wait_end()
    assert instance.ports_are_free()
