"""What a measurement was made with and on: the machine, the software, the memory it took."""

import os
import platform
import subprocess
from pathlib import Path

import numpy as np


def describe_machine() -> str:
    """Return processor, cores and software in one line."""
    names = [line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    processor = names[0] if names else platform.processor() or platform.machine()
    software = f"Python {platform.python_version()}, NumPy {np.__version__}"
    return f"{os.cpu_count()} x {processor}, {platform.system()}, {software}"


def source_commit() -> str:
    """Return the commit that the running source was checked out from, with + where it was changed; "" if unknown."""
    folder = Path(__file__).parent
    try:
        _git(folder, "ls-files", "--error-unmatch", Path(__file__).name)  # Another project's repository is not ours.
        commit = _git(folder, "rev-parse", "--short=10", "HEAD")
        return commit + ("+" if _git(folder, "status", "--porcelain", "--", str(folder)) else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603


def reset_peak_memory() -> None:
    """Begin to measure peak memory anew, where the system can (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_memory_megabytes() -> float:
    """Return the most memory this process has held, since the last reset where the system can reset."""
    for line in _lines("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
