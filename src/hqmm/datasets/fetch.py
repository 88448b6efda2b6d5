"""The authors' files: where to find them, and proof that they are the right ones.

They carry no licence, so none is shipped: a file is looked for in the folder that ``HQMM_DATA`` names, then in the
cache, and then fetched from the authors' public repository, at a fixed commit. Wherever it comes from, its SHA-256
must be the known one.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from hqmm.errors import DataError

SOURCE = (
    "https://raw.githubusercontent.com/sandeshAdhikary/learning-hqmms-stiefel-manifold/"
    "45b12165472dbb647841d6dfa902ddaa0c32189c/data/"
)
SHA256 = {
    "splice_data.mat": "8343298bf69ce1a32debf426ee0cf7870e8b9db29e5b3c6862a839123ba9807a",
    "synthetic_hmm_data.mat": "a886949620750e13431274f4aeb451cad753fa4c9599bd9ab297000c0a26ce28",
    "synthetic_hqmm_data.mat": "25e44f7e4a6af7fdeb2fabb289f26e22d821f5a944908a090faa1b52915b4fad",
}
FOLDER_VARIABLE = "HQMM_DATA"
CACHE_VARIABLE = "HQMM_CACHE"
TIMEOUT = 20.0  # seconds for the server to answer


class DataUnavailableError(DataError):
    """A data file is neither at hand nor could it be downloaded; the message says how to get it.

    Examples
    --------
    >>> from hqmm.datasets import DataUnavailableError
    >>> issubclass(DataUnavailableError, ValueError)
    True
    """


def data_folder() -> Path | None:
    """Return the folder that ``HQMM_DATA`` names, if it names one."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else None


def cache_folder() -> Path:
    """Return where downloads are kept: ``HQMM_CACHE``, or the place for caches on this system."""
    import pooch

    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else Path(pooch.os_cache("hqmm"))


def fetch_file(name: str, *, source: str = SOURCE, download: bool = True) -> Path:
    """Return the path of one of the authors' files.

    Parameters
    ----------
    name : str
        The file: a key of ``SHA256``.
    source : str
        Address of the folder to download from.
    download : bool
        Whether to download a file that is not at hand.

    Returns
    -------
    Path

    Raises
    ------
    DataUnavailableError
        Where there is neither the file nor a way to download it.
    DataError
        Where a file is there but not the authors'.
    """
    if name not in SHA256:
        raise DataError(f"there is no file {name!r}; the authors' files are {', '.join(SHA256)}")
    folder = data_folder()
    if folder is not None and (folder / name).is_file():
        path = folder / name
        if _sha256(path) != SHA256[name]:
            raise DataError(
                f"{path} is not the authors' file: its SHA-256 is {_sha256(path)}, not {SHA256[name]}; "
                f"replace it, or take it out of the folder that {FOLDER_VARIABLE} names"
            )
        return path
    cached = cache_folder() / name
    if cached.is_file() and _sha256(cached) == SHA256[name]:
        return cached
    if not download:
        raise DataUnavailableError(_advice(name, "downloads are switched off"))
    return _download(name, source)


def _download(name: str, source: str) -> Path:
    """Download into the cache; only a file with the right checksum ever gets there under its name."""
    import logging

    import pooch
    from requests import RequestException

    logger: logging.Logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.ERROR)  # errors are raised, and said better, below
    try:
        path = pooch.retrieve(
            source + name,
            known_hash=f"sha256:{SHA256[name]}",
            fname=name,
            path=cache_folder(),
            downloader=pooch.HTTPDownloader(timeout=TIMEOUT),
        )
    except RequestException as error:
        raise DataUnavailableError(_advice(name, f"{source} did not send it ({_reason(error)})")) from None
    except ValueError as error:
        if "SHA256" not in str(error):  # pooch's word for a wrong checksum
            raise
        what = f"what {source} sent does not have the SHA-256 {SHA256[name]}"
        raise DataUnavailableError(_advice(name, f"{what}: another file, or a cut-off one")) from None
    except OSError as error:
        raise DataUnavailableError(
            _advice(
                name, f"the cache {cache_folder()} cannot be written ({error}); {CACHE_VARIABLE} may name another"
            )
        ) from None
    finally:
        logger.setLevel(level)
    return Path(path)


def _advice(name: str, why: str) -> str:
    return (
        f"{name} is not at hand: {why}. With a network it is downloaded once from {SOURCE}; without, put the file "
        f"in a folder and let the environment variable {FOLDER_VARIABLE} name that folder"
    )


def _reason(error: Exception) -> str:
    response = getattr(error, "response", None)
    return type(error).__name__ if response is None else f"status {response.status_code}"


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error}") from None
