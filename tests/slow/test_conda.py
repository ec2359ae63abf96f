"""What environment.yml hands to pip can be installed: a fresh environment, the pins, every extra, and the command."""

import re
import subprocess
import venv
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow(depends=["environment.yml", "pyproject.toml", "constraints.txt"])
def test_what_environment_yml_names_installs(tmp_path: Path, figures: dict[str, Any]) -> None:
    words = re.findall(r'^ {6}- "(.+)"$', (ROOT / "environment.yml").read_text(), flags=re.MULTILINE)
    assert words == ["-c constraints.txt", "-e .[dev]"]
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("\n".join(words) + "\n")
    venv.create(tmp_path / "environment", with_pip=True)
    python = tmp_path / "environment" / "bin" / "python"
    copy = tmp_path / "source"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(copy)], check=True)
    requirements.rename(copy / "requirements.txt")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", "requirements.txt"], cwd=copy, check=True)
    listed = subprocess.run([python.parent / "workbench", "methods"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "dp-merf" in listed
    subprocess.run([python, "-m", "pip", "check"], check=True)  # what came is what all of it asks for
    frozen = subprocess.run([python, "-m", "pip", "freeze"], capture_output=True, text=True, check=True).stdout
    figures["packages"] = len(frozen.splitlines())
