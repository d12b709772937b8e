#!/usr/bin/env python3
"""Breaks the lifecycle machine on purpose, one line at a time, and expects the explorer to notice.

A mutant is (file, old, new, rule): `old` stands exactly once in the file. It is killed when the
explorer built from the changed copy ends with a failure and prints a trace; the rule it names may
be a neighbour of the one listed, because the first rule to be broken on the shortest trace wins.
"""

import concurrent.futures
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CC = os.environ.get("CC", "cc")
SECONDS = 60  # of computing: how long that takes is up to what else the machine does

MUTANTS = [
    ("owner.c", "bool dead = l->owner_liveness == LIFECYCLE_DEAD;",
     "bool dead = l->owner_liveness != LIFECYCLE_ALIVE;", 1),
    ("owner.c", "if (!dead || sessions_counting(l) > 0)", "if (!dead)", 1),
    ("sessions.c", "return s->role == LIFECYCLE_ROLE_EDITOR && lifecycle_session_counts(s) &&",
     "return s->role == LIFECYCLE_ROLE_FRONT && lifecycle_session_counts(s) &&", 1),
    ("machine.c", "sessions_counting_others(t->l, event->session) > 0",
     "sessions_counting_others(t->l, event->session) > 1", 1),
    ("machine.c", "owner_objects(t->l, &event->process);", "false;", 1),
    ("owner.c", "if (l->sampling && liveness == LIFECYCLE_DEAD)",
     "if (liveness == LIFECYCLE_DEAD && sessions_counting(l) == 0)", 2),
    ("owner.c", "if (l->sampling && liveness == LIFECYCLE_DEAD)",
     "if (l->sampling && liveness != LIFECYCLE_ALIVE)", 2),
    ("owner.c", "l->orphan_by = t->now + l->config.grace_ms;", "l->orphan_by = t->now;", 2),
    ("owner.c", "if (l->ownership != LIFECYCLE_ORPHAN || l->sampling)",
     "if (l->ownership != LIFECYCLE_UNARMED || l->sampling)", 2),
    ("server.c", "return l->port_check ? l->port_check_by : l->drain_by;",
     "return l->port_check ? LIFECYCLE_NEVER : l->drain_by;", 2),
    ("owner.c", "return owner_move(t, IN_KEPT);", "return false;", 3),
    ("owner.c", "    l->sampling = false;", "    ;", 3),
    ("sessions.c", "        session_link(t, s, LIFECYCLE_AWAY);\n    else\n        session_remove",
     "        session_remove(t, s);\n    else\n        session_remove", 3),
    ("sessions.c", "named->link == LIFECYCLE_HELD || process_same(&named->process, &hello->process)",
     "named->link == LIFECYCLE_HELD", 3),
    ("sessions.c", "return s->role != LIFECYCLE_ROLE_CLI && !s->silent;", "return !s->silent;", 3),
    ("owner.c", "const struct lifecycle_session *heir = dead ? sessions_heir(l) : NULL;",
     "const struct lifecycle_session *heir = NULL;", 4),
    ("sessions.c", "&& s->link != LIFECYCLE_HELD && s->process.pid != 0)", "&& s->process.pid != 0)",
     4),
    ("sessions.c", "for (uint32_t i = 0; i < l->session_count; i++) {\n"
     "        const struct lifecycle_session *s = &l->sessions[i];\n        if (role_adopts",
     "for (uint32_t i = l->session_count; i-- > 0;) {\n"
     "        const struct lifecycle_session *s = &l->sessions[i];\n        if (role_adopts", 4),
    ("owner.c", "    l->owner_liveness = LIFECYCLE_UNKNOWN;\n    l->owner_adopted = true;",
     "    l->owner_liveness = LIFECYCLE_ALIVE;\n    l->owner_adopted = true;", 4),
    ("sessions.c", "return sessions_counting(l) == 0 && !owner_objects(l, leaver);",
     "return l->ownership == LIFECYCLE_UNARMED || !owner_objects(l, leaver);", 5),
    ("owner.c", "return l->ownership == LIFECYCLE_UNARMED ||",
     "return l->ownership != LIFECYCLE_UNARMED &&", 5),
    ("machine.c", "else if (t->l->idle_since == LIFECYCLE_NEVER)", "else if (false)", 5),
    ("machine.c", "        t->l->idle_since = LIFECYCLE_NEVER;", "        ;", 5),
    ("owner.c", "if (!owner || owner->pid == 0)", "if (!owner)", 5),
    ("server.c", "turn_do(t, LIFECYCLE_DO_CLOSE_STDIN | LIFECYCLE_DO_TERMINATE);",
     "turn_do(t, LIFECYCLE_DO_TERMINATE);", 6),
    ("server.c", "if (!l->tree || l->drain != LIFECYCLE_DRAIN_NONE)", "if (!l->tree)", 6),
    ("server.c", "if (!l->tree || l->drain >= LIFECYCLE_DRAIN_KILL)", "if (!l->tree)", 6),
    ("server.c", "l->drain_by = t->now + l->config.stop_grace_ms;", "l->drain_by = t->now;", 6),
    ("server.c", "    if (!drain_over(l))\n        return drain_timer(t);\n    if (l->purpose",
     "    if (l->purpose", 6),
    ("machine.c", "if (t->l->signals == 2)", "if (t->l->signals == 3)", 6),
    ("server.c", "if (t->l->drain == LIFECYCLE_DRAIN_TERM)", "if (false)", 6),
    ("server.c", "if (t->l->drain == LIFECYCLE_DRAIN_TERM)", "if (true)", 6),
    ("server.c", "        turn_do(t, LIFECYCLE_DO_RECORD | LIFECYCLE_DO_EXIT);",
     "        turn_do(t, LIFECYCLE_DO_EXIT);", 6),
    ("sessions.c", "    if (server_ending(t->l)) {", "    if (t->l->server == LIFECYCLE_STOPPED) {", 7),
    ("sessions.c", "    if (server_ending(t->l)) {",
     "    if (t->l->server == LIFECYCLE_STOPPING) {", 7),
    ("machine.c", "    if (server_ending(t->l)) {\n        turn_answer(t, LIFECYCLE_ANSWER_STOPPING);",
     "    if (false) {\n        turn_answer(t, LIFECYCLE_ANSWER_STOPPING);", 7),
    ("server.c", "if (l->crash_count >= l->config.crash_limit) {",
     "if (l->crash_count > l->config.crash_limit) {", 8),
    ("server.c", "if (t->now - l->crash_at[i] < l->config.crash_window_ms)", "if (true)", 8),
    ("server.c", "    if (l->attempt <= 1)\n        return 0;\n", "", 8),
    ("server.c", "t->now - l->ready_at >= l->config.health_ms)", "false)", 8),
    ("server.c", "return t->now >= l->retry_at && server_move(t, IN_CLEAR);",
     "return server_move(t, IN_CLEAR);", 8),
    ("machine.c", "l->server != LIFECYCLE_FAILED || sessions_counting(l) > 0)",
     "l->server != LIFECYCLE_FAILED)", 8),
    ("sessions.c", "return sessions_counting(l) == 0 && !owner_objects(l, leaver);",
     "return sessions_counting(l) == 0;", 9),
    ("owner.c", "(l->owner_liveness != LIFECYCLE_DEAD && !process_same(&l->owner, process))",
     "!process_same(&l->owner, process)", 9),
    ("sessions.c", "    if (leave_ends(t->l, &leaver))", "    if (false)", 9),
    ("sessions.c", "s->until = t->now + t->l->config.hold_ms;",
     "s->until = t->now + t->l->config.hold_ms + 1;", 9),
    ("sessions.c", "if (s->link == LIFECYCLE_HELD || !process_same(&s->process, process))",
     "if (!process_same(&s->process, process))", 9),
    ("sessions.c", "    bool stays = leave == LIFECYCLE_LEAVE_RELOAD || leave",
     "    bool stays = leave", 9),
    ("sessions.c", "if (quiet >= limit) {", "if (quiet > limit + 1) {", 10),
    ("sessions.c", "quiet >= limit / 2", "quiet >= limit / 3", 10),
    ("sessions.c", "    s->silent = 0;", "    ;", 10),
    ("machine.c", "        sessions_process_died(t, &event->process);", "        ;", 10),
    ("sessions.c", "    if (l->session_count > 0)\n        deadline = l->sweep_at;",
     "    deadline = l->sweep_at;", 10),
]


def compile_all(sources, include, folder):
    """Compiles the sources into the folder; an error text, or None."""
    command = [CC, "-std=c11", "-O1", "-w", "-c", "-DLIFECYCLE_MAX_SESSIONS=3", f"-I{include}",
               *map(str, sources)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stderr[:500] if done.returncode else None


def build(work, common, mutant):
    """Links the explorer with one changed file; an error text, or None."""
    name, old, new, _ = mutant
    shutil.copytree(ROOT / "launcher" / "lifecycle", work / "lifecycle")
    source = work / "lifecycle" / name
    text = source.read_text(encoding="utf-8")
    if text.count(old) != 1:
        return f"the line to change stands {text.count(old)} times in {name}"
    source.write_text(text.replace(old, new), encoding="utf-8")
    problem = compile_all([source], work, work)
    if problem:
        return problem
    changed = source.with_suffix(".o").name
    objects = [o for o in sorted(common.glob("*.o")) if o.name != changed] + [work / changed]
    done = subprocess.run([CC, *map(str, objects), "-o", str(work / "explore")],
                          capture_output=True, text=True, check=False)
    return done.stderr[:500] if done.returncode else None


def explore(program):
    """(exit status, output) of an explorer."""
    with subprocess.Popen([str(program), "--first"], stdout=subprocess.PIPE, text=True) as process:
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (SECONDS, SECONDS))
        output, _ = process.communicate()
        return process.returncode, output


def judge(common, mutant):
    """(killed, comment) for one mutant."""
    with tempfile.TemporaryDirectory(prefix="tether-mutant-") as folder:
        work = pathlib.Path(folder)
        problem = build(work, common, mutant)
        if problem:
            return False, problem
        status, output = explore(work / "explore")
    if status < 0:
        return False, f"the explorer ended by signal {-status}; it may compute for {SECONDS} s"
    rules = re.findall(r"^not ok (\d+)", output, re.M)
    traced = "# in scenario" in output or "at the very beginning" in output
    if status != 1 or not rules or not traced:
        return False, f"survived with status {status}"
    return True, f"breaks rule {', '.join(rules)}"


def main():
    """Judges all mutants, two at a time; the exit status says whether all were killed."""
    print(f"1..{len(MUTANTS)}")
    killed = 0
    with tempfile.TemporaryDirectory(prefix="tether-mutants-") as folder:
        common = pathlib.Path(folder)
        sources = [*(ROOT / "launcher" / "lifecycle").glob("*.c"),
                   *(ROOT / "tests" / "explore").glob("*.c")]
        problem = compile_all(sources, ROOT / "launcher", common)
        if problem:
            print(f"Bail out! {problem}")
            return 1
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            verdicts = pool.map(lambda mutant: judge(common, mutant), MUTANTS)
            for number, (mutant, verdict) in enumerate(zip(MUTANTS, verdicts), 1):
                killed += report(number, mutant, verdict)
    print(f"# {killed} of {len(MUTANTS)} mutants killed")
    return 0 if killed == len(MUTANTS) else 1


def report(number, mutant, verdict):
    """Prints one TAP line; returns whether the mutant was killed."""
    name, old, new, rule = mutant
    good, comment = verdict
    change = " ".join(f"{old.strip()} => {new.strip() or '(nothing)'}".split())
    print(f"{'ok' if good else 'not ok'} {number} - rule {rule}: {name}: {change[:150]}")
    print(f"# {comment}", flush=True)
    return good


if __name__ == "__main__":
    sys.exit(main())
