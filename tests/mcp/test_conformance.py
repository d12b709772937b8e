"""F7: the public conformance suite against the built-in server as it is shipped.

All that the suite wants to call comes from a fake editor; the server knows none of it. There is no file
of expected failures. A scenario counts only if the fake editor saw the calls that it is about: some are
content with any error, even that a tool does not exist."""
import json
import os
import re

import pytest

from harness import run
from mcp import LEGACY, MODERN, BuiltIn, node, node_env, package

SUITE = package("@modelcontextprotocol/conformance/dist/index.js")
STABLE = package("conformance-stable/dist/index.js")
SUITE_LIMIT = 120

# What the editor must have been asked for, by scenario: method, name, and how it ended.
CALLS = {
    "completion-complete": [("completion/complete", None, "result")],
    "tools-call-simple-text": [("tools/call", "test_simple_text", "result")],
    "tools-call-image": [("tools/call", "test_image_content", "result")],
    "tools-call-audio": [("tools/call", "test_audio_content", "result")],
    "tools-call-embedded-resource": [("tools/call", "test_embedded_resource", "result")],
    "tools-call-mixed-content": [("tools/call", "test_multiple_content_types", "result")],
    "tools-call-with-logging": [("tools/call", "test_tool_with_logging", "result")],
    "tools-call-error": [("tools/call", "test_error_handling", "isError")],
    "tools-call-with-progress": [("tools/call", "test_tool_with_progress", "result")],
    "tools-call-sampling": [("tools/call", "test_sampling", "result")],
    "tools-call-elicitation": [("tools/call", "test_elicitation", "result")],
    "elicitation-sep1034-defaults": [("tools/call", "test_elicitation_sep1034_defaults", "result")],
    "elicitation-sep1330-enums": [("tools/call", "test_elicitation_sep1330_enums", "result")],
    "server-sse-polling": [("tools/call", "test_reconnection", "result")],
    "resources-read-text": [("resources/read", "test://static-text", "result")],
    "resources-read-binary": [("resources/read", "test://static-binary", "result")],
    "resources-templates-read": [("resources/read", "test://template/123/data", "result")],
    "resources-subscribe": [("resources/subscribe", "test://watched-resource", "result")],
    "resources-unsubscribe": [("resources/unsubscribe", "test://watched-resource", "result")],
    "prompts-get-simple": [("prompts/get", "test_simple_prompt", "result")],
    "prompts-get-with-args": [("prompts/get", "test_prompt_with_arguments", "result")],
    "prompts-get-embedded-resource": [("prompts/get", "test_prompt_with_embedded_resource", "result")],
    "prompts-get-with-image": [("prompts/get", "test_prompt_with_image", "result")],
    "server-stateless": [("tools/call", "test_logging_tool", "result"),
                         ("tools/call", "test_trigger_tool_change", "result"),
                         ("tools/call", "test_trigger_prompt_change", "result"),
                         ("tools/call", "test_streaming_elicitation", None),
                         ("tools/call", "test_missing_capability", "error")],
    "input-required-result-non-tool-request": [
        ("prompts/get", "test_input_required_result_prompt", "input_required"),
        ("prompts/get", "test_input_required_result_prompt", "result")],
    "input-required-result-tampered-state": [
        ("tools/call", "test_input_required_result_tampered_state", "input_required")],
    "input-required-result-capability-check": [
        ("tools/call", "test_input_required_result_capabilities", "input_required")],
}
for scenario, tool in {"basic-elicitation": "elicitation", "basic-sampling": "sampling",
                       "basic-list-roots": "list_roots", "request-state": "request_state",
                       "multiple-input-requests": "multiple_inputs", "multi-round": "multi_round"}.items():
    CALLS["input-required-result-" + scenario] = [
        ("tools/call", "test_input_required_result_" + tool, "input_required"),
        ("tools/call", "test_input_required_result_" + tool, "result")]

# What the suite runs without scoring it, because its own fixture cannot pass it, or it came later; we do. The
# rest of what it does not score is an extension that is not there: tasks.
BEYOND = {
    LEGACY: ["server-session-lifecycle", "json-schema-2020-12", "server-sse-polling"],
    MODERN: ["json-schema-2020-12", "http-header-validation", "http-custom-header-server-validation"],
}

# These must not reach the editor with an answer that counts: the server has to see through them.
NEVER = [("tools/call", "test_input_required_result_tampered_state", "result")]

UNKNOWN = re.compile(r"(?i)(unknown|no such) tool|tool not found")


@pytest.fixture
def server(state_dir):
    with BuiltIn(state_dir) as instance:
        instance.start()
        with instance.editor() as editor:
            instance.fake = editor
            yield instance


def read_results(folder):
    """The checks of every scenario that was run: {scenario: [check]}."""
    results = {}
    for entry in sorted(os.listdir(folder)):
        match = re.match(r"server-(.+?)-\d{4}-\d\d-\d\dT", entry)
        path = os.path.join(folder, entry, "checks.json")
        if match and os.path.exists(path):
            with open(path) as file:
                results[match.group(1)] = json.load(file)
    return results


def scored_scenarios(revision):
    """What a revision requires of a server, as the suite itself lists it."""
    done = run(node(SUITE, "list", "--server", "--requirements", revision), node_env())
    listed = done.output.split("never scored")[0].split("Client scenarios")[0]
    return re.findall(r"^  - (\S+)", listed, re.MULTILINE)


def complaints(results, statuses=("FAILURE",)):
    """All checks with one of these outcomes, in words."""
    return ["%s: %s: %s %s" % (scenario, check["id"], check["status"], check.get("errorMessage", ""))
            for scenario, checks in results.items() for check in checks if check["status"] in statuses]


def check_really_called(scenarios, calls, results):
    """Nothing passed without the editor having been asked what the scenario is about."""
    for scenario in scenarios:
        for wanted in CALLS.get(scenario, []):
            assert any(call[:2] == wanted[:2] and wanted[2] in (None, call[2]) for call in calls), (
                "%s: the editor was never asked for %s; it saw %s" % (
                    scenario, wanted, [call for call in calls if call[1] == wanted[1]]))
    assert not [call for call in calls if call in NEVER]
    vacuous = [(scenario, check["id"]) for scenario, checks in results.items() for check in checks
               if check["status"] == "SUCCESS" and UNKNOWN.search(json.dumps(check.get("details", "")))]
    assert not vacuous, "passed only because a tool was not there: %s" % vacuous


def run_suite(server, out, program, *options):
    done = run(node(program, "server", "--url", server.url, "-o", str(out), *options), node_env(),
               limit=SUITE_LIMIT, cwd=str(out))
    return done, read_results(str(out))


@pytest.mark.parametrize("revision, count", [(LEGACY, 30), (MODERN, 37)])
def test_F7_conformance_requirements(server, tmp_path, revision, count):
    """F7: every scenario that a revision of the protocol requires of a server."""
    scored = scored_scenarios(revision)
    assert len(scored) == count
    out = tmp_path / "out"
    out.mkdir()
    done, results = run_suite(server, out, SUITE, "--requirements", revision)
    missing = set(scored) - set(results)
    assert not missing, "never run: %s\n%s" % (missing, done.output[-3000:])
    required = {name: results[name] for name in scored + BEYOND[revision]}
    assert not complaints(required, ("FAILURE", "WARNING"))
    assert all(any(check["status"] == "SUCCESS" for check in checks) for checks in required.values())
    check_really_called(scored, server.fake.calls(), required)
    assert done.status == 0, done.output[-3000:]


def test_F7_conformance_stable_suite(server, tmp_path):
    """F7: all scenarios of the stable release of the suite, which knows the first era only."""
    out = tmp_path / "out"
    out.mkdir()
    done, results = run_suite(server, out, STABLE, "--suite", "all")
    assert len(results) == 32, "%s\n%s" % (sorted(results), done.output[-3000:])
    assert not complaints(results)
    # This release leaves its sessions open, so that another one is still subscribed when one is not any more.
    check_really_called(set(results) - {"resources-unsubscribe"}, server.fake.calls(), results)
    assert done.status == 0, done.output[-3000:]
