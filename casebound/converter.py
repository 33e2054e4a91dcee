"""The data converter of every casebound client, worker and replayer.

Above: `casebound.temporal` and the worker. Below: Temporal's pydantic converter, of which one
method changes: values equal to a model's defaults are not written, because every byte of a
payload stays in the history for good. The wire encoding remains `json/plain`.

Not a codec: encryption and external storage compose with it as with any other converter.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import SchemaSerializer, core_schema
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter
from temporalio.converter import (
    CompositePayloadConverter,
    DataConverter,
    DefaultFailureConverter,
    DefaultPayloadConverter,
    JSONPlainPayloadConverter,
    PayloadConverter,
)

_SERIALIZER = SchemaSerializer(core_schema.any_schema())
"""Serializes by the run-time type, so one serves every model."""


class LeanJSONPayloadConverter(PydanticJSONPlainPayloadConverter):
    """Writes a model without the fields that hold their default value.

    A reader gets the same model back as long as it knows the default; so a default may never
    change once histories hold it (add a new field instead).
    """

    def to_payload(self, value: Any) -> Payload | None:
        """Serialize the value to JSON, model defaults left out."""
        data = _SERIALIZER.to_json(value, exclude_defaults=True)
        return Payload(metadata={"encoding": self.encoding.encode()}, data=data)


class LeanPayloadConverter(CompositePayloadConverter):
    """Temporal's default converters, JSON replaced by the lean one."""

    def __init__(self) -> None:
        lean = LeanJSONPayloadConverter()
        super().__init__(
            *(
                lean if isinstance(converter, JSONPlainPayloadConverter) else converter
                for converter in DefaultPayloadConverter.default_encoding_payload_converters
            )
        )


class TracelessFailureConverter(DefaultFailureConverter):
    """Writes failures without stack traces: paths and source lines are the worker log's, not the history's."""

    def to_failure(self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure) -> None:
        """Convert the exception, and drop the trace of it and of its causes."""
        super().to_failure(exception, payload_converter, failure)
        current = failure
        while current.stack_trace or current.HasField("cause"):
            current.ClearField("stack_trace")
            current = current.cause


casebound_data_converter = DataConverter(
    payload_converter_class=LeanPayloadConverter, failure_converter_class=TracelessFailureConverter
)
"""Give it to every client and replayer of casebound's workflows."""
