#!/usr/bin/env python3
"""Breaks the machines on purpose, one line at a time, and expects their explorers to notice.

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
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CC = os.environ.get("CC", "cc")
SECONDS = 60  # of computing: how long that takes is up to what else the machine does

LIFECYCLE = [
    ("owner.c", "bool dead = l->owner_liveness == OS_DEAD;",
     "bool dead = l->owner_liveness != OS_ALIVE;", 1),
    ("owner.c", "if (!dead || sessions_counting(l) > 0)", "if (!dead)", 1),
    ("sessions.c", "return s->role == LIFECYCLE_ROLE_EDITOR && lifecycle_session_counts(s) &&",
     "return s->role == LIFECYCLE_ROLE_FRONT && lifecycle_session_counts(s) &&", 1),
    ("machine.c", "sessions_counting_others(t->l, t->event->session) > 0",
     "sessions_counting_others(t->l, t->event->session) > 1", 1),
    ("machine.c", "(t->l->linger_by == 0 && owner_objects(t->l, &t->event->process));", "false;", 1),
    ("owner.c", "if (l->sampling && liveness == OS_DEAD)",
     "if (liveness == OS_DEAD && sessions_counting(l) == 0)", 2),
    ("owner.c", "if (l->sampling && liveness == OS_DEAD)",
     "if (l->sampling && liveness != OS_ALIVE)", 2),
    ("owner.c", "l->orphan_by = t->now + l->config.grace_ms;", "l->orphan_by = t->now;", 2),
    ("owner.c", "if (l->ownership != LIFECYCLE_ORPHAN || l->sampling)",
     "if (l->ownership != LIFECYCLE_UNARMED || l->sampling)", 2),
    ("server.c", "return l->port_check ? l->port_check_by : l->drain_by;",
     "return l->port_check ? LIFECYCLE_NEVER : l->drain_by;", 2),
    ("owner.c", "if (!dead || sessions_counting(l) > 0) {",
     "if (!dead || sessions_counting(l) > 0) {\n        return false;", 3),
    ("owner.c", "    l->sampling = false;", "    ;", 3),
    ("sessions.c", "        session_link(t, s, LIFECYCLE_AWAY);\n    else\n        session_remove",
     "        session_remove(t, s);\n    else\n        session_remove", 3),
    ("sessions.c", "named->link == LIFECYCLE_HELD || os_identity_same(&named->process, &hello->process)",
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
    ("owner.c", "    l->owner_liveness = OS_UNKNOWN;\n    l->owner_adopted = true;",
     "    l->owner_liveness = OS_ALIVE;\n    l->owner_adopted = true;", 4),
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
    ("crashes.c", "return crashes->count >= config->crash_limit;",
     "return crashes->count > config->crash_limit;", 8),
    ("crashes.c", "if (now_ms - crashes->at[i] < config->crash_window_ms)", "if (true)", 8),
    ("crashes.c", "    if (crashes->attempt <= 1)\n        return 0;\n", "", 8),
    ("server.c", "t->now - l->ready_at >= l->config.health_ms)", "false)", 8),
    ("server.c", "if (t->now < l->retry_at)", "if (false)", 8),
    ("machine.c", "l->server != LIFECYCLE_FAILED || sessions_counting(l) > 0)",
     "l->server != LIFECYCLE_FAILED)", 8),
    ("sessions.c", "return sessions_counting(l) == 0 && !owner_objects(l, leaver);",
     "return sessions_counting(l) == 0;", 9),
    ("owner.c", "(l->owner_liveness != OS_DEAD && !os_identity_same(&l->owner, process))",
     "!os_identity_same(&l->owner, process)", 9),
    ("sessions.c", "    else if (leave_ends(t->l, &leaver))", "    else if (false)", 9),
    ("sessions.c", "s->until = t->now + t->l->config.hold_ms;",
     "s->until = t->now + t->l->config.hold_ms + 1;", 9),
    ("sessions.c", "if (s->link == LIFECYCLE_HELD || !os_identity_same(&s->process, process))",
     "if (!os_identity_same(&s->process, process))", 9),
    ("sessions.c", "    bool stays = leave == LIFECYCLE_LEAVE_RELOAD || leave",
     "    bool stays = leave", 9),
    ("sessions.c", "if (quiet >= limit) {", "if (quiet > limit + 1) {", 10),
    ("sessions.c", "quiet >= limit / 2", "quiet >= limit / 3", 10),
    ("sessions.c", "    s->silent = 0;", "    ;", 10),
    ("machine.c", "        sessions_process_died(t, &t->event->process);", "        ;", 10),
    ("sessions.c", "    if (l->session_count > 0)\n        deadline = l->sweep_at;",
     "    deadline = l->sweep_at;", 10),
    ("server.c", "    if (sessions_counting(l) > 0) {\n        linger_over(t);", "    if (false) {\n        linger_over(t);", 9),
    ("server.c", "if (l->clients && t->now < l->linger_by)", "if (t->now < l->linger_by)", 9),
    ("server.c", "if (l->clients && t->now < l->linger_by)", "if (l->clients)", 9),
    ("server.c", "l->clients = false;  ", "", 9),
    ("sessions.c", " && t->event->leave == LIFECYCLE_LEAVE_QUIT)", ")", 9),
    ("machine.c", "(t->l->linger_by == 0 && owner_objects(t->l, &t->event->process));",
     "owner_objects(t->l, &t->event->process);", 1),
]


SESSION = [
    ("session_step.c", "    if (has_connection(step->s))\n        act(step, SESSION_DO_DISCONNECT);",
     "    act(step, SESSION_DO_DISCONNECT);", 1),
    ("session_step.c", "        return;\n    if (session->phase == SESSION_LEAVING)",
     "        ;\n    if (session->phase == SESSION_LEAVING)", 1),
    ("session_step.c", "        act(step, SESSION_DO_ABORT_LAUNCH);", "        ;", 1),
    ("session_step.c", "    hang_up(step);\n    s->phase = SESSION_CONNECTING;",
     "    s->phase = SESSION_CONNECTING;", 1),
    ("session_step.c", "    if (s->launching) { /* it will be told the same */", "    if (false) {", 1),
    ("session_step.c", "    if (s->launching)\n        s->phase = SESSION_LAUNCHING;", "    if (false)\n        ;", 1),
    ("session_step.c", "    if (step->s->phase == SESSION_RETRYING)\n        act(step, SESSION_DO_STOP_TIMER);",
     "", 1),
    ("session_step.c", "        act(step, SESSION_DO_STOP_TIMER);\n        come_to_rest", "        come_to_rest", 1),
    ("session_step.c", "        if (s->want == SESSION_RUN && !s->launching) /*", "        if (!s->launching) /*", 2),
    ("session_step.c", "    if (s->want != SESSION_RUN && s->want != SESSION_AFTER)\n        ask_to_stop",
     "    if (s->want == SESSION_STOP)\n        ask_to_stop", 2),
    ("session_step.c", "    if (s->want == SESSION_STOP_AND_LEAVE)", "    if (false)", 2),
    ("session_step.c", "    step->s->forced = false;\n    step->out->forced = forced;",
     "    step->out->forced = step->s->forced;\n    step->s->forced = false;", 2),
    ("session_step.c", "        s->want = SESSION_STOP; /* once", "        s->want = SESSION_FAIL; /* once", 2),
    ("session_step.c", "        s->want = SESSION_RUN; /* nobody has been asked yet */\n        s->forced = false;",
     "        s->want = SESSION_RUN;", 2),
    ("session_step.c", "    } else if (!is_called_off(s)) {\n        tell", "    } else if (false) {\n        tell", 5),
    ("session_step.c", "    } else if (!is_called_off(s)) {\n        tell", "    } else {\n        tell", 2),
    ("session_step.c", "        if (!s->launching)\n            tell_withheld(step);", "", 5),
    ("session_step.c", "    } else if (s->launching || !step->event->elsewhere) {", "    } else if (false) {", 2),
    ("session_step.c", "        act(step, SESSION_DO_SAY_DISABLE);\n        hang_up(step);\n        launch_afresh",
     "        hang_up(step);\n        launch_afresh", 2),
    ("session_step.c", "    } else if (s->want == SESSION_STOP || s->want == SESSION_FAIL) {",
     "    } else if (s->want == SESSION_FAIL) {", 3),
    ("session_step.c", "    } else if (s->want == SESSION_STOP || s->want == SESSION_FAIL) {",
     "    } else if (s->want == SESSION_STOP) {", 3),
    ("session_step.c", "        s->want = SESSION_AFTER;\n    } else if (s->want == SESSION_RUN && is_connected",
     "        ;\n    } else if (s->want == SESSION_RUN && is_connected", 3),
    ("session_step.c", "if (s->want == SESSION_STOP && s->launching && !is_connected &&",
     "if (s->want == SESSION_STOP && !is_connected &&", 3),
    ("session_step.c", "    case SESSION_ANEW:\n    case SESSION_AFTER:\n        launch_afresh(step);",
     "    case SESSION_ANEW:\n    case SESSION_AFTER:\n        retry(step);", 3),
    ("session_step.c", "        s->want = restarts ? SESSION_AFTER : SESSION_RUN;", "        s->want = SESSION_RUN;", 3),
    ("session_step.c", "    s->want = step->event->ending ? SESSION_AFTER : SESSION_RUN;",
     "    s->want = SESSION_RUN;", 3),
    ("session_step.c", "            s->want = SESSION_AFTER;\n        return;", "            ;\n        return;", 3),
    ("session_step.c", "    if (step->event->changed &&\n", "    if (false &&\n", 3),
    ("session_step.c", "(s->launching || s->phase == SESSION_CONNECTING || (is_up && is_kept))", "is_up && is_kept", 3),
    ("session_step.c", "        s->want = SESSION_AFTER;\n        act(step, SESSION_DO_ASK_RESTART);",
     "        act(step, SESSION_DO_ASK_RESTART);", 3),
    ("session_step.c", "server == SESSION_SERVER_FAILED && is_other)", "server == SESSION_SERVER_FAILED)", 3),
    ("session_step.c", "             !(is_order && session_is_leaving(session)))", "             true)", 4),
    ("session_step.c", "    if (s->withheld || session_is_leaving(s))", "    if (s->withheld)", 4),
    ("session_step.c", "    if (!s->lost && !session_is_leaving(s))", "    if (!s->lost)", 4),
    ("session_step.c", "    else if (step->event->hurry || s->phase", "    else if (s->phase", 4),
    ("session_step.c", "    case SESSION_LEAVE:\n    case SESSION_STOP_AND_LEAVE:\n        end(step);",
     "    case SESSION_LEAVE:\n    case SESSION_STOP_AND_LEAVE:\n        retry(step);", 4),
    ("session_step.c", "    if (session_is_leaving(s)) {\n        say_farewell", "    if (false) {\n        say_farewell", 4),
    ("session_step.c", "    if (s->want == SESSION_RUN)\n        act(step, SESSION_DO_KEEP_REASON);", "", 5),
    ("session_step.c", "    if (s->want != SESSION_FAIL)\n        act(step, SESSION_DO_KEEP_REASON);",
     "    act(step, SESSION_DO_KEEP_REASON);", 5),
    ("session_step.c", "    return s->launching ? !is_called_off(s) : s->want == SESSION_FAIL;",
     "    return s->want == SESSION_FAIL;", 5),
    ("session_step.c", "    return s->launching ? !is_called_off(s) : s->want == SESSION_FAIL;",
     "    return s->launching && !is_called_off(s);", 5),
    ("session_step.c", "    if (is_new && server == SESSION_SERVER_FAILED)", "    if (server == SESSION_SERVER_FAILED)", 5),
    ("session_step.c", "        if (s->phase == SESSION_CONNECTED)\n            ask_to_stop(step, s->want, false);", "", 5),
    ("session_step.c", "        s->want = s->want == SESSION_RUN ? SESSION_FAIL : SESSION_ANEW;",
     "        s->want = SESSION_FAIL;", 3),
    ("session_step.c", "    if (!s->lost || s->attempts >= SESSION_ATTEMPTS) {", "    if (!s->lost) {", 6),
    ("session_step.c", "    if (!s->lost || s->attempts >= SESSION_ATTEMPTS) {",
     "    if (!s->lost || s->attempts >= SESSION_ATTEMPTS - 1) {", 6),
    ("session_step.c", "    if (!s->lost || s->attempts >= SESSION_ATTEMPTS) {",
     "    if (s->attempts >= SESSION_ATTEMPTS) {", 6),
    ("session_step.c", "    if (step->event->hopeless)\n        s->lost = false;", "", 6),
    ("session_step.c", "    s->lost = false; /* to ask again would not change the answer */", "", 5),
    ("session_step.c", "    for (int i = 1; i < s->attempts; i++)", "    for (int i = 0; i < s->attempts; i++)", 6),
    ("session_step.c", "delay < SESSION_RETRY_MOST_MS ? delay : SESSION_RETRY_MOST_MS;", "delay;", 6),
    ("session_step.c", "    if (step->event->healthy)\n        s->attempts = 0;", "", 6),
    ("session_step.c", "    if (s->attempts == 0) {", "    if (false) {", 6),
    ("session_step.c", "    step->s->attempts = 0;\n", "", 6),
    ("session_step.c", "    act(step, SESSION_DO_FORGET_SESSION);", "    ;", 7),
    ("session_step.c", "        launch(step); /* the first attempt", "        launch_afresh(step); /* the first attempt", 7),
    ("session_step.c", "    step->out->recall = !s->lost;", "    step->out->recall = true;", 7),
    ("session_step.c", "    else if (had_ended)", "    else if (false)", 7),
    ("session_step.c", "    act(step, SESSION_DO_FOLLOW_LOG);", "", 7),
    ("session_step.c", "    else if (kind == SESSION_ON_FAREWELL_OVER || kind == SESSION_ON_LOST)",
     "    else if (kind == SESSION_ON_LOST)", 8),
    ("session_step.c", "        act(step, SESSION_DO_SAY_DISABLE);\n        hang_up(step);\n        retry(step);",
     "        ask_to_stop(step, SESSION_FAIL, false);", 8),
]


class Machine(typing.NamedTuple):
    """What is broken, and by what that is noticed."""
    name: str
    sources: tuple  # of the machine, with its headers
    explorer: tuple
    include: pathlib.Path
    mutants: list


EXPLORE = ROOT / "tests" / "explore"
MACHINES = [
    Machine("lifecycle", tuple((ROOT / "launcher" / "lifecycle").glob("*.[ch]")),
            (*EXPLORE.glob("*.c"), ROOT / "launcher" / "must.c"), ROOT / "launcher", LIFECYCLE),
    Machine("session", tuple((ROOT / "gdextension" / "session").glob("session_step.[ch]")),
            (*(EXPLORE / "session").glob("*.c"), EXPLORE / "space.c"), ROOT / "gdextension", SESSION),
]


def compile_all(sources, includes, folder):
    """Compiles the sources into the folder; an error text, or None."""
    command = [CC, "-std=c11", "-O2", "-w", "-c", "-DLIFECYCLE_MAX_SESSIONS=3",
               *(f"-I{include}" for include in includes), *map(str, sources)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stderr[:500] if done.returncode else None


def build(work, common, machine, mutant):
    """Links the explorer with one changed file; an error text, or None."""
    name, old, new, _ = mutant
    (work / machine.name).mkdir()
    for source in machine.sources:
        shutil.copy(source, work / machine.name)
    source = work / machine.name / name
    text = source.read_text(encoding="utf-8")
    if text.count(old) != 1:
        return f"the line to change stands {text.count(old)} times in {name}"
    source.write_text(text.replace(old, new), encoding="utf-8")
    problem = compile_all([source], [work, machine.include], work)
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


def judge(common, machine, mutant):
    """(killed, comment) for one mutant."""
    with tempfile.TemporaryDirectory(prefix="tether-mutant-") as folder:
        work = pathlib.Path(folder)
        problem = build(work, common, machine, mutant)
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


def judge_all(machine, first):
    """Judges all mutants of a machine, two at a time; returns how many were killed."""
    killed = 0
    with tempfile.TemporaryDirectory(prefix="tether-mutants-") as folder:
        common = pathlib.Path(folder)
        sources = [source for source in (*machine.sources, *machine.explorer) if source.suffix == ".c"]
        problem = compile_all(sources, [machine.include], common)
        if problem:
            print(f"Bail out! {problem}")
            return 0
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            verdicts = pool.map(lambda mutant: judge(common, machine, mutant), machine.mutants)
            for number, (mutant, verdict) in enumerate(zip(machine.mutants, verdicts), first):
                killed += report(number, mutant, verdict)
    print(f"# {machine.name}: {killed} of {len(machine.mutants)} mutants killed", flush=True)
    return killed


def main():
    """Judges the mutants of all machines, or of those named; the exit status says whether all were killed."""
    machines = [machine for machine in MACHINES if machine.name in sys.argv[1:] or not sys.argv[1:]]
    total = sum(len(machine.mutants) for machine in machines)
    killed = first = 0
    print(f"1..{total}")
    for machine in machines:
        killed += judge_all(machine, first + 1)
        first += len(machine.mutants)
    return 0 if killed == total else 1


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
