"""How many tokens of o200k texts have, by the counter that ./dev installs from npm."""
import json
import os
import shutil
import subprocess
import tempfile


def counted(texts, packages):
    """The tokens of each text; packages is where ./dev has installed those of npm."""
    with tempfile.TemporaryDirectory(prefix="tt-") as folder:  # a module finds packages beside it only
        shutil.copy(os.path.join(os.path.dirname(__file__), "count_tokens.mjs"), folder)
        os.symlink(os.path.join(packages, "node_modules"), os.path.join(folder, "node_modules"))
        done = subprocess.run([os.path.join(packages, "node_modules/.bin/node"), os.path.join(folder, "count_tokens.mjs")],
                              input=json.dumps(texts), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def of_tools(tools, packages):
    """(those of the whole list, [(tokens, name), …] with the largest first); tools as tools/list has them."""
    texts = [json.dumps(tool, separators=(",", ":"), ensure_ascii=False) for tool in tools]
    whole, *each = counted(['{"tools":[%s]}' % ",".join(texts), *texts], packages)
    return whole, sorted(zip(each, (tool["name"] for tool in tools)), reverse=True)
