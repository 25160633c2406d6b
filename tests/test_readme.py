import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_code_at_the_top_prints_what_stands_below_it(tmp_path: Path) -> None:
    (code, output) = re.findall(r"^```(?:python|text)\n(.*?)^```$", README.read_text(encoding="utf-8"), re.M | re.S)[:2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout == output
