"""The corpora that can be fetched by name."""

from retrieval.corpora.catalogue import SOURCES, HubFile


def test_everything_is_known_that_can_be_checked() -> None:
    for name, source in SOURCES.items():
        assert name == source.name
        assert source.size
        assert source.records
        assert source.sha256
        assert len(bytes.fromhex(source.sha256)) == 32
        assert source.url.startswith("https://")
        assert "\n" not in source.licence
        assert "CC BY-SA" in source.licence


def test_a_file_on_the_hub_has_a_url_and_a_fixed_revision() -> None:
    source = SOURCES["wiki17"]
    assert source.file == "wiki.abstracts.2017.tar.gz"
    assert isinstance(source.location, HubFile)
    assert len(source.location.revision) == 40
    assert source.url == f"https://huggingface.co/dspy/cache/resolve/{source.location.revision}/{source.file}"
