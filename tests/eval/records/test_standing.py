from eval.records.standing import label, standing


def test_labels() -> None:
    assert [standing(model) for model in ("oracle/perfect", "extractive/reader", "openai/x")] == [
        "ceiling",
        "floor",
        "",
    ]
    assert label("oracle/perfect") == "oracle/perfect = ceiling (oracle LM)"
    assert label("extractive/reader") == "extractive/reader = floor (extractive reader, no LM)"
    assert label("openai/gpt-4o-mini") == "openai/gpt-4o-mini"
