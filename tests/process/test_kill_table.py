"""F9: the table of the kill-at-every-step sweep that is published is the one that is tested."""
import kill_table


def test_F9_published_table_is_that_of_the_sweep():
    """If not: /usr/bin/python3 tests/support/kill_table.py --write"""
    with open(kill_table.PAGE) as file:
        assert file.read() == kill_table.page()
