"""tests/windows/run.cmd, which people run on a real Windows, by Wine's cmd.exe. Row G1."""
import os
import re
import subprocess

from harness import LIMIT, free_ports
from wine import BUILT, WINE, windows_path

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "../windows/run.cmd")


def test_G1_run_cmd_knows_all_programs():
    with open(SCRIPT, newline="") as file:
        text = file.read()
    assert text.count("\n") == text.count("\r\n")  # or cmd.exe misses labels
    listed = re.search(r"for %%p in \((.*?)\)", text).group(1).split()
    assert listed == sorted(name[:-2] for name in os.listdir(HERE) if re.fullmatch(r"os_.*\.c", name))


def test_G1_run_cmd_walks_through_the_commands(wine, tmp_path):
    """Without the C programs, which are run elsewhere: in a folder where only tether.exe and helpers are."""
    programs = tmp_path / "built" / "tests" / "wine" / "programs"
    programs.mkdir(parents=True)
    os.link(os.path.join(BUILT, "tether.exe"), tmp_path / "built" / "tether.exe")
    for name in ("agent.exe", "server.exe"):
        os.link(os.path.join(BUILT, "tests/wine/programs", name), programs / name)
    ports = "--http-port %d --ws-port %d" % tuple(free_ports())
    with open(tmp_path / "output", "w") as output:
        subprocess.run([WINE, "cmd", "/c", windows_path(SCRIPT), windows_path(tmp_path / "built")], cwd=tmp_path,
                       env=dict(os.environ, PORTS=ports, **wine.env), stdin=subprocess.DEVNULL, stdout=output,
                       stderr=output, timeout=6 * LIMIT, check=False)
    result = (tmp_path / "tether-windows.txt").read_text(errors="replace")
    refused = [line for line in result.splitlines() if line.startswith("not ok")]
    assert [line for line in refused if "os_" not in line] == [], result
    assert "20 passed" in result or "21 passed" in result, result
