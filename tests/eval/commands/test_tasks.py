import pytest
from support.command_line import exit_code

from eval.__main__ import main


def test_tasks_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(main, ["tasks"]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert all(len(line) == 3 and all(line) for line in lines)
    assert {"sample", "hotpotqa:blendfilter", "strategyqa:migres", "bamboogle"} <= {line[0] for line in lines}
