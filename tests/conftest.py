import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "hqmm", deadline=None, max_examples=30, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("hqmm")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The paper's data files, which are not ours to ship."""
    folder = os.environ.get("HQMM_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set HQMM_DATA to the folder that holds the paper's data files")
    return Path(folder)
