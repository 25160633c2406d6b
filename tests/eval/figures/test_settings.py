from support.records import a_manifest

from eval.figures.settings import differing, settings


def test_settings_are_named_by_their_path_and_differ_where_runs_that_have_them_do() -> None:
    one = a_manifest(program="a", settings={"k": 5, "style": "short", "m": 3}, lm="oracle/x", temperature=0.5)
    other = a_manifest(program="b", settings={"k": 64, "style": "short"}, lm="oracle/x", temperature=0.5, asked=7)
    by_name = {setting.name: setting for setting in settings([one, other])}
    assert by_name["settings.k"].values == ["5", "64"]
    assert by_name["settings.m"].values == ["3", "–"]
    assert by_name["lm"].values == ["oracle/x = ceiling (oracle LM)"] * 2
    assert by_name["metrics"].values == ["none", "none"]
    assert by_name["settings.style"].same
    # What one program lacks is no difference in a setting, and how many questions a run asks is none either.
    assert [setting.name for setting in differing([one, other])] == ["program", "settings.k"]
