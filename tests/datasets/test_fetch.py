"""The authors' files: found, downloaded once, and never believed without their checksum."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hqmm import DataError
from hqmm.datasets import DataUnavailableError, fetch_file
from hqmm.datasets.fetch import SHA256

NAME = "splice_data.mat"
CONTENT = bytes(range(256)) * 400


class Server:
    """A local HTTP server that serves one file in a chosen way and counts requests."""

    def __init__(self, content=CONTENT, promised=None, status=200):
        server = self
        self.requests = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.requests.append(self.path)
                self.send_response(status)
                self.send_header("Content-Length", str(len(content) if promised is None else promised))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args):
                pass

        self.httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.httpd.server_port}/"

    def __enter__(self):
        threading.Thread(target=self.httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.httpd.shutdown()
        self.httpd.server_close()


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    """No folder, an empty cache, no proxy, and a file of ours in place of the authors'."""
    monkeypatch.delenv("HQMM_DATA", raising=False)
    monkeypatch.setenv("HQMM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setitem(SHA256, NAME, hashlib.sha256(CONTENT).hexdigest())


def leftovers(tmp_path):
    return sorted(path.name for path in (tmp_path / "cache").glob("*"))


def test_a_file_is_downloaded_once_and_then_cached(tmp_path):
    with Server() as server:
        first = fetch_file(NAME, source=server.address)
        second = fetch_file(NAME, source=server.address)
    assert first == second == tmp_path / "cache" / NAME
    assert first.read_bytes() == CONTENT
    assert server.requests == ["/" + NAME]


def test_another_file_than_the_authors_is_refused_and_not_kept(tmp_path):
    with Server(b"not it") as server, pytest.raises(DataUnavailableError, match="does not have the SHA-256"):
        fetch_file(NAME, source=server.address)
    assert leftovers(tmp_path) == []


def test_a_cut_off_transfer_is_refused_and_the_next_one_succeeds(tmp_path):
    with Server(CONTENT[:1000], promised=len(CONTENT)) as server, pytest.raises(DataUnavailableError):
        fetch_file(NAME, source=server.address)
    assert leftovers(tmp_path) == []
    with Server() as server:
        assert fetch_file(NAME, source=server.address).read_bytes() == CONTENT


def test_without_a_network_the_error_says_how_to_get_the_file():
    with Server() as server:
        address = server.address  # nobody listens there any more
    with pytest.raises(DataUnavailableError, match=r"ConnectionError.*HQMM_DATA name that folder"):
        fetch_file(NAME, source=address)


def test_a_server_without_the_file_is_named_with_its_status():
    with Server(status=404) as server, pytest.raises(DataUnavailableError, match="status 404"):
        fetch_file(NAME, source=server.address)


def test_a_damaged_file_in_the_cache_is_fetched_again(tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / NAME).write_bytes(CONTENT[:10])
    with Server() as server:
        assert fetch_file(NAME, source=server.address).read_bytes() == CONTENT


def test_the_named_folder_comes_first(tmp_path, monkeypatch):
    (tmp_path / NAME).write_bytes(CONTENT)
    monkeypatch.setenv("HQMM_DATA", str(tmp_path))
    assert fetch_file(NAME, source="http://nowhere.invalid/") == tmp_path / NAME


def test_a_wrong_file_in_the_named_folder_is_an_error_not_a_download(tmp_path, monkeypatch):
    (tmp_path / NAME).write_bytes(b"something else")
    monkeypatch.setenv("HQMM_DATA", str(tmp_path))
    with Server() as server, pytest.raises(DataError, match="is not the authors' file") as caught:
        fetch_file(NAME, source=server.address)
    assert not isinstance(caught.value, DataUnavailableError)
    assert server.requests == []


def test_downloads_can_be_switched_off():
    with Server() as server, pytest.raises(DataUnavailableError, match="switched off"):
        fetch_file(NAME, source=server.address, download=False)
    assert server.requests == []


def test_a_cache_that_cannot_be_written_is_said(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HQMM_CACHE", str(tmp_path / "file"))
    with Server() as server, pytest.raises(DataUnavailableError, match="cannot be written"):
        fetch_file(NAME, source=server.address)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(DataError, match="synthetic_hmm_data"):
        fetch_file("other.mat")


def test_the_known_checksums_are_those_of_the_authors_files(data_folder, monkeypatch):
    monkeypatch.undo()
    for name in SHA256:
        assert fetch_file(name).parent == data_folder
