"""F9, L3, L5: everything at once and in any order, for a minute. `./dev soak` does it for long, with
sanitizers, too. TETHER_SEED repeats a run, as far as it can be repeated."""
import os
import random

from soak import soak

SEED = os.environ.get("TETHER_SEED") or str(random.SystemRandom().randrange(10 ** 6))


def test_F9_L3_L5_everything_at_once_and_nothing_is_left(tmp_path, capsys):
    def say(text):
        with capsys.disabled():
            print("\nsoak: " + text)
    say("seed %s" % SEED)
    soak(str(tmp_path), float(os.environ.get("TETHER_SOAK_SECONDS", "60")), SEED, say)
