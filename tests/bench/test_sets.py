import pytest

from jigsolve import InputError, Picture, write_picture
from jigsolve.bench.sets import KNOWN_SETS, check_set, find_folders
from tests.puzzles import drawing


def put(folder, *names, height=28, width=56):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        write_picture(folder / name, Picture(drawing(height, width)))


def test_known_folders_go_by_their_pieces_and_come_smallest_first(tmp_path):
    put(tmp_path / "bgu_805", "a.png")
    put(tmp_path / "holidays", "b.png", "a.png")
    put(tmp_path / "cho_432", "a.png")
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").touch()
    folders = find_folders(tmp_path)
    assert [folder.name for folder in folders] == ["432", "805", "holidays"]
    assert [path.name for path in folders[2].images] == ["a.png", "b.png"]
    assert [path.name for path in folders[2].first(1).images] == ["a.png"]
    assert [folder.name for folder in find_folders(tmp_path, ["holidays", "432"])] == ["holidays", "432"]


def test_an_unknown_set_is_named_with_those_there_are(tmp_path):
    put(tmp_path / "cho_432", "a.png")
    with pytest.raises(InputError, match=r"no set '540' in .*; there are 432"):
        find_folders(tmp_path, ["540"])


@pytest.mark.parametrize("make", [True, False])
def test_a_missing_or_empty_folder(tmp_path, make):
    root = tmp_path / "images"
    if make:
        root.mkdir()
    with pytest.raises(InputError, match="holds no folder of pictures" if make else "there is no folder"):
        find_folders(root)


def test_a_set_that_is_not_as_published_is_told_what_is_wrong(tmp_path):
    put(tmp_path / "cho_432", "a.png")
    put(tmp_path / "cho_432", "b.png", height=504, width=672)
    (tmp_path / "cho_432" / "c.png").write_bytes(b"nonsense")
    problems = check_set(find_folders(tmp_path)[0])
    assert problems[0] == "3 images instead of 20"
    assert any("a.png is 56x28 pixels instead of 672x504" in problem for problem in problems)
    assert any("b.png has 8 bits a channel instead of 16" in problem for problem in problems)
    assert any("c.png is not a picture" in problem for problem in problems)
    assert not any("b.png is" in problem for problem in problems)


def test_any_other_folder_is_a_set_of_its_own(tmp_path):
    put(tmp_path / "holidays", "a.png")
    assert check_set(find_folders(tmp_path)[0]) == []


def test_the_known_sets_have_the_pieces_they_are_named_for():
    assert {name: known.pieces for name, known in KNOWN_SETS.items()} == {name: int(name) for name in KNOWN_SETS}
