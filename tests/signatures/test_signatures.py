"""What holds for the output fields of every signature."""

import importlib
import inspect
import pkgutil

import dspy
import pytest
from dspy.adapters.json_adapter import _get_structured_outputs_response_format

import signatures
from signatures.replies.as_written import Reply

MODULES = [
    importlib.import_module(f"signatures.{found.name}")
    for found in pkgutil.iter_modules(signatures.__path__)
    if found.name not in ("adapters", "replies")
]
NAMED = [getattr(module, name) for module in MODULES for name in module.__all__]
ALL = [named for named in NAMED if inspect.isclass(named)]


@pytest.mark.parametrize("signature", ALL, ids=lambda signature: signature.__name__)
def test_a_field_is_text_or_of_a_type_that_forgives(signature: type[dspy.Signature]) -> None:
    for field in signature.output_fields.values():
        assert field.annotation is str or (inspect.isclass(field.annotation) and issubclass(field.annotation, Reply))


@pytest.mark.parametrize("signature", ALL, ids=lambda signature: signature.__name__)
def test_something_is_required_and_what_is_not_has_no_default_in_the_schema(signature: type[dspy.Signature]) -> None:
    fields = signature.output_fields
    assert any(field.is_required() for field in fields.values())
    schema = _get_structured_outputs_response_format(signature).model_json_schema()
    assert all("default" not in part for part in schema["properties"].values())
    assert schema["required"] == list(fields)


@pytest.mark.parametrize("signature", ALL, ids=lambda signature: signature.__name__)
def test_it_has_instructions_of_its_own(signature: type[dspy.Signature]) -> None:
    assert signature.instructions
    assert "Given the fields" not in signature.instructions
