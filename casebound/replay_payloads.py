"""The payloads of a history: found wherever they stand, and decoded where a codec wrote them.

Above: `casebound.replay`. Below: Temporal's messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload
from temporalio.client import WorkflowHistory
from temporalio.converter import DataConverter


def payloads(message: Message) -> Iterator[Payload]:
    """Find every payload in a history or a part of it, in order."""
    if isinstance(message, Payload):
        yield message
        return
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        for part in _parts(value):
            yield from payloads(part)


async def decoded(history: WorkflowHistory, data_converter: DataConverter) -> WorkflowHistory:
    """Make the history as it was before the codec, if the converter has one."""
    codec = data_converter.payload_codec
    if codec is None:
        return history
    copy = WorkflowHistory.from_json(history.workflow_id, history.to_json())
    for event in copy.events:
        for payload in list(payloads(event)):
            [plain] = await codec.decode([payload])
            payload.CopyFrom(plain)
    return copy


def _parts(value: Any) -> Iterator[Message]:
    if isinstance(value, Message):
        yield value
    elif hasattr(value, "values"):
        yield from (part for part in value.values() if isinstance(part, Message))
    else:
        yield from (part for part in value if isinstance(part, Message))
