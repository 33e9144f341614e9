import errno
import os
import sys
from pathlib import Path

import pytest

from jigsolve import InputError, OutputError
from jigsolve.files import check_distinct, check_writable, is_folder, write_whole


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_bytes_are_written_and_nothing_else_is_left(tmp_path):
    write_whole(tmp_path / "file", b"\0new\xff")
    assert (tmp_path / "file").read_bytes() == b"\0new\xff"
    assert names(tmp_path) == ["file"]


def test_a_file_has_one_name_only(tmp_path):
    # The hidden neighbour is a second name of the same file until it is removed.
    write_whole(tmp_path / "file", b"new")
    assert (tmp_path / "file").stat().st_nlink == 1


def test_an_existing_file_is_left_alone(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(OutputError, match=r"file exists already; .*--force"):
        write_whole(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_an_existing_file_is_overwritten_on_demand(tmp_path):
    (tmp_path / "file").write_bytes(b"old and longer")
    write_whole(tmp_path / "file", b"new", overwrite=True)
    assert (tmp_path / "file").read_bytes() == b"new"
    assert names(tmp_path) == ["file"]


def test_a_file_that_appears_meanwhile_is_left_alone(tmp_path, monkeypatch):
    def somebody_else_writes(descriptor):
        (tmp_path / "file").write_bytes(b"theirs")

    monkeypatch.setattr(os, "fsync", somebody_else_writes)
    with pytest.raises(OutputError, match=r"cannot write .*file: File exists"):
        write_whole(tmp_path / "file", b"ours")
    assert (tmp_path / "file").read_bytes() == b"theirs"
    assert names(tmp_path) == ["file"]


def refuse_links(*_args):
    raise PermissionError(errno.EPERM, "Operation not permitted")


def test_a_file_system_without_links_is_written_to(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", refuse_links)
    write_whole(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert names(tmp_path) == ["file"]


def test_without_links_too_a_file_that_appears_meanwhile_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", refuse_links)
    monkeypatch.setattr(os, "fsync", lambda descriptor: (tmp_path / "file").write_bytes(b"theirs"))
    with pytest.raises(OutputError, match="exists already"):
        write_whole(tmp_path / "file", b"ours")
    assert (tmp_path / "file").read_bytes() == b"theirs"


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_full_disk_leaves_the_old_state(tmp_path, monkeypatch, overwrite):
    def disk_is_full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    if overwrite:
        (tmp_path / "file").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", disk_is_full)
    with pytest.raises(OutputError, match=r"cannot write .*file: No space left on device"):
        write_whole(tmp_path / "file", b"new", overwrite=overwrite)
    assert names(tmp_path) == (["file"] if overwrite else [])
    assert not overwrite or (tmp_path / "file").read_bytes() == b"old"


def test_an_interruption_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "file", b"new")
    assert names(tmp_path) == []


def test_a_folder_is_no_file_to_write(tmp_path):
    with pytest.raises(OutputError, match="is a folder"):
        check_writable(tmp_path, overwrite=True)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(OutputError, match=r"the folder .*missing does not exist"):
        check_writable(tmp_path / "missing" / "file", overwrite=False)


def test_a_file_is_no_folder_to_write_into(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"the folder .*file does not exist"):
        check_writable(tmp_path / "file" / "below", overwrite=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_that_is_not_writable_is_named(tmp_path):
    (tmp_path / "folder").mkdir(mode=0o500)
    with pytest.raises(OutputError, match=r"the folder .*folder is not writable"):
        check_writable(tmp_path / "folder" / "file", overwrite=False)


def test_a_name_that_is_too_long_is_refused(tmp_path):
    with pytest.raises(OutputError, match=r"cannot write .*: File name too long"):
        check_writable(tmp_path / ("x" * 300), overwrite=False)


@pytest.mark.parametrize("overwrite", [False, True])
def test_devices_are_not_replaced_by_files(tmp_path, overwrite):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match="pipe is not an ordinary file"):
        write_whole(tmp_path / "pipe", b"new", overwrite=overwrite)
    assert (tmp_path / "pipe").is_fifo()


def test_two_outputs_need_two_names(tmp_path):
    with pytest.raises(InputError, match="b is named for two outputs"):
        check_distinct([tmp_path / "a"], [tmp_path / "b", tmp_path / "c", tmp_path / "." / "b"])


def test_an_output_is_no_input(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(InputError, match="link is named for an input and an output"):
        check_distinct([tmp_path / "a"], [tmp_path / "link"])


def test_different_names_are_fine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_distinct([tmp_path / "a"], [Path("b"), tmp_path / "b" / "b"])


def test_a_link_to_itself_is_refused(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(OutputError, match=r"cannot write .*loop: Too many levels of symbolic links"):
        check_writable(tmp_path / "loop", overwrite=True)


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="from then on a loop resolves to itself")
def test_a_link_to_itself_is_the_same_as_nothing(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(InputError, match="loop is a symbolic link that leads back to itself"):
        check_distinct([tmp_path / "loop"], [])


def test_what_is_a_folder_and_what_is_not(tmp_path):
    (tmp_path / "file").touch()
    assert is_folder(tmp_path)
    assert not is_folder(tmp_path / "file")
    assert not is_folder(tmp_path / "missing")
    assert not is_folder(tmp_path / ("x" * 300))
