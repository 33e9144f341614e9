import pytest

from jigsolve import sample_picture, warm_up


@pytest.fixture(scope="session")
def photo():
    """The sample photograph: 512x600 pixels, colour."""
    return sample_picture()


@pytest.fixture(scope="session")
def compiled():
    """The kernels are compiled and kept, so that what is timed or interrupted is the solver."""
    warm_up()
