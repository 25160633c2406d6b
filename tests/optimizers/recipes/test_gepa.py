from pathlib import Path

from support.compiling import compiled
from support.learning_lm import TABLE, LearningLM

from programs.blendfilter import BlendFilter


def test_gepa_tells_the_lm_what_the_predictor_did_wrong_and_not_another_one_like_it(tmp_path: Path) -> None:
    answer, draft = LearningLM(), LearningLM()
    compiled("gepa", BlendFilter(TABLE), answer, tmp_path / "answer", only=["answer"])
    compiled("gepa", BlendFilter(TABLE), draft, tmp_path / "draft", only=["draft"])
    said = "The final answer should be 'Lund', but was 'It was Lund , I think', and it is to stand alone."
    assert answer.taught
    assert draft.taught
    assert f"{said} The passages did state it" in "".join(answer.taught)
    assert f"{said} What was written was searched with, and all the passages" in "".join(draft.taught)
    assert "searched with" not in "".join(answer.taught)
    assert "".join(draft.taught).count("searched with") == "".join(draft.taught).count("stand alone")
