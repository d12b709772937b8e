"""One prefix of Wine for each run of pytest."""
import os

import pytest

import network
from harness import BUILD
from wine import Wine, WineInstance, WineOwn


@pytest.fixture(scope="session")
def wine(tmp_path_factory):
    network.make_own()
    # Two lanes run at a time, each in a folder of its own; prefixes stay, for to make one takes seconds.
    made = Wine(os.path.join(BUILD, "wine." + os.path.basename(str(tmp_path_factory.getbasetemp()))))
    yield made
    made.close()


@pytest.fixture
def bystanders(wine, bystanders):
    """Wine's own services come up when they are needed."""
    return WineOwn(bystanders)


@pytest.fixture
def instance(wine, state_dir):
    with WineInstance(wine, state_dir) as made:
        yield made
