"""tests/windows/run.cmd, which people run on a real Windows, by Wine's cmd.exe. Row G1."""
import os
import re

from harness import LIMIT, free_ports, run, system

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "run.cmd")


def test_G1_run_cmd_knows_all_programs():
    with open(SCRIPT, newline="") as file:
        text = file.read()
    assert text.count("\n") == text.count("\r\n")  # or cmd.exe misses labels
    listed = re.search(r"for %%p in \((.*?)\)", text).group(1).split()
    assert listed == sorted(name[:-2] for name in os.listdir(os.path.join(HERE, "../wine"))
                            if re.fullmatch(r"os_.*\.c", name))


def walk(folder, built, ports):
    """What run.cmd writes down. Once in some thousand programs Wine does not start one that is there, and its cmd.exe says
    that it does not know it: then it is told to walk once more."""
    for _ in range(2):
        run([r"C:\windows\system32\cmd.exe", "/c", system.native(SCRIPT), system.native(built)], {"PORTS": ports},
            limit=6 * LIMIT, cwd=folder, console=True)
        result = (folder / "tether-windows.txt").read_text(errors="replace")
        if "Can't recognize '\"%s\"" % system.native(built / "tether.exe") not in result:
            break
    return result


def test_G1_run_cmd_walks_through_the_commands(tmp_path):
    """Without the C programs, which are run elsewhere: in a folder where only tether.exe and helpers are."""
    built = tmp_path / "built"
    for name in ("tether.exe", "tests/programs/windows/host.exe", "tests/programs/windows/server.exe"):
        (built / name).parent.mkdir(parents=True, exist_ok=True)
        os.link(os.path.join(system.BUILT, name), built / name)
    ports = "--http-port %d --ws-port %d" % tuple(free_ports())
    result = walk(tmp_path, built, ports)
    refused = [line for line in result.splitlines() if line.startswith("not ok")]
    assert [line for line in refused if "os_" not in line] == [], result
    assert "21 passed" in result, result
