"""The examples of the README, run as a reader would run them, in order, in one folder."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from jigsolve import sample_picture

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
SET_UP = ("make", "pip")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


@pytest.fixture
def folder(tmp_path):
    """What the README's reader has: a photograph."""
    photo = sample_picture().to_pillow()
    photo.save(tmp_path / "photo.jpg", quality=95)
    return tmp_path


def test_every_command_of_the_readme_works(folder):
    commands = [shlex.split(line, comments=True) for block in blocks("sh") for line in block.splitlines()]
    ours = [command for command in commands if command and command[0] not in SET_UP]
    assert len(ours) >= 7
    for command in ours:
        assert command[0] == "jigsolve"
        run = subprocess.run(
            [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False, timeout=120
        )
        assert run.returncode == 0, run.stderr
    for name in ("solved.png", "from-tiles.png", "evolution.gif", "cost.png"):
        Image.open(folder / name).verify()


def test_the_python_of_the_readme_works(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    exec("\n".join(blocks("python")), {})
    assert "neighbour 100.00 %" in capsys.readouterr().out
    assert (folder / "from-python.png").exists()


def test_every_file_the_readme_points_to_exists():
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert len(links) >= 5
    assert [link for link in links if not (ROOT / link).exists()] == []
