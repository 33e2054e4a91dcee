"""The data converter: every model that crosses the Temporal line comes back as it was, without its defaults."""

from __future__ import annotations

import inspect
import json
import pickle
from enum import Enum
from types import ModuleType
from typing import Any, Literal, Union, get_args, get_origin

import annotated_types as at
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from temporalio.contrib.pydantic import pydantic_data_converter

from activities import contracts
from boundary import contracts as boundary_contracts
from boundary import report
from boundary.contracts import EvidenceStatus, InvocationStatus, ToolCallOutcome
from casebound.converter import LeanJSONPayloadConverter, casebound_data_converter

TEXT = st.characters(codec="utf-8")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(TEXT),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(TEXT, max_size=5), inner, max_size=3),
    max_leaves=8,
)


def models(*modules: ModuleType) -> list[type[BaseModel]]:
    """List the models a module defines."""
    found = [member for module in modules for member in vars(module).values() if inspect.isclass(member)]
    return sorted(
        {cls for cls in found if issubclass(cls, BaseModel) and cls.__module__ in {m.__name__ for m in modules}},
        key=lambda cls: cls.__name__,
    )


ALL = models(contracts, boundary_contracts, report)


def instances(model: type[BaseModel]) -> st.SearchStrategy[BaseModel]:
    """Make any instance of a model, each field at its default or at any other value."""
    fields: dict[str, st.SearchStrategy[Any]] = {}
    for name, field in model.model_fields.items():
        strategy = values(field.annotation, field.metadata)
        default = st.nothing() if field.is_required() else st.just(field.get_default(call_default_factory=True))
        fields[name] = default | strategy

    @st.composite
    def build(draw: st.DrawFn) -> BaseModel:
        try:
            return model(**{name: draw(strategy) for name, strategy in fields.items()})
        except ValidationError:
            reject()

    return build()


def values(annotation: Any, metadata: list[Any]) -> st.SearchStrategy[Any]:
    """Make values of a field's type within its bounds."""
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return JSON
    if origin is Literal:
        return st.sampled_from(args)
    if origin is Union or (origin is not None and origin.__name__ == "UnionType"):
        return st.one_of([values(arg, metadata) for arg in args])
    if origin is tuple:
        return st.lists(values(args[0], []), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(st.text(TEXT, max_size=8), values(args[1], []), max_size=2)
    return plain_values(annotation, metadata)


def plain_values(annotation: Any, metadata: list[Any]) -> st.SearchStrategy[Any]:
    bounds: dict[type, Any] = {type(bound): bound for bound in metadata}
    low = bounds[at.Ge].ge if at.Ge in bounds else (bounds[at.Gt].gt if at.Gt in bounds else None)
    high = bounds[at.Le].le if at.Le in bounds else None
    longest = min(bounds[at.MaxLen].max_length, 50) if at.MaxLen in bounds else 50
    shortest = bounds[at.MinLen].min_length if at.MinLen in bounds else 0
    if annotation is type(None):
        return st.none()
    if annotation is str:
        return st.text(TEXT, min_size=shortest, max_size=longest)
    if annotation is bool:
        return st.booleans()
    if annotation is int:
        return st.integers(low + 1 if at.Gt in bounds and low is not None else low, high)
    if annotation is float:
        return st.floats(low, high, allow_nan=False, allow_infinity=False, exclude_min=at.Gt in bounds)
    if issubclass(annotation, Enum):
        return st.sampled_from(list(annotation))
    return instances(annotation)


@pytest.mark.parametrize("model", ALL, ids=lambda model: model.__name__)
@settings(max_examples=30)
@given(data=st.data())
def test_every_model_comes_back_as_it_was(model: type[BaseModel], data: st.DataObject) -> None:
    """Whatever its fields hold, a value equal to a default or close to it included."""
    value = data.draw(instances(model))
    converter = casebound_data_converter.payload_converter
    payload = converter.to_payload(value)
    assert converter.from_payload(payload, model) == value


def test_defaults_are_not_written() -> None:
    """What both sides know takes no byte of the history."""
    payload = casebound_data_converter.payload_converter.to_payload(ToolCallOutcome())
    assert (payload.metadata, payload.data) == ({"encoding": b"json/plain"}, b"{}")


def test_values_that_tell_one_case_from_another_are_written() -> None:
    """Only the default of such a field may be left out."""
    outcome = ToolCallOutcome(status=InvocationStatus.ERROR, evidence_status=EvidenceStatus.ERROR)
    payload = casebound_data_converter.payload_converter.to_payload(outcome)
    assert json.loads(payload.data) == {"status": "ERROR", "evidence_status": "ERROR"}


def test_nested_defaults_are_left_out_too() -> None:
    """At any depth."""
    plan = contracts.PlanInput(
        run_id="r",
        number=2,
        results=(contracts.CallResult(stored=False),),
        budget=contracts.BudgetLeft(tool_calls=1, turns=1, run_bytes=1),
        deadline_ms=5,
    )
    payload = casebound_data_converter.payload_converter.to_payload(plan)
    assert json.loads(payload.data) == {
        "run_id": "r",
        "number": 2,
        "results": [{"stored": False}],
        "budget": {"tool_calls": 1, "turns": 1, "run_bytes": 1},
        "deadline_ms": 5,
    }


def test_what_the_usual_converter_wrote_can_be_read() -> None:
    """A history recorded with pydantic's own converter still replays: the encoding is the same."""
    outcome = ToolCallOutcome(preview="a", truncated=True)
    payload = pydantic_data_converter.payload_converter.to_payload(outcome)
    assert casebound_data_converter.payload_converter.from_payload(payload, ToolCallOutcome) == outcome


@pytest.mark.parametrize("value", [None, b"\xff", 2**70, "text", [1, {"a": None}], {}])
def test_plain_values_pass(value: object) -> None:
    """Nulls, bytes and JSON go through the converters Temporal has for them."""
    converter = casebound_data_converter.payload_converter
    assert converter.from_payload(converter.to_payload(value), type(value)) == value


def test_the_converter_can_be_pickled() -> None:
    """As the SDK's own can."""
    assert isinstance(pickle.loads(pickle.dumps(LeanJSONPayloadConverter())), LeanJSONPayloadConverter)
