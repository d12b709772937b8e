"""I1: what the launcher lists before any editor is there is what the addon registers."""
from make_offer import PLACE, made, written


def test_I1_what_is_shipped_is_what_the_addon_registers(tmp_path):
    with open(PLACE) as file:
        shipped = file.read()
    assert written(made(str(tmp_path))) == shipped, "the addon's tools have changed: run `./dev offer`, and commit it"
