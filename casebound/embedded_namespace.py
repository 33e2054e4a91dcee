"""How long the embedded Temporal server keeps the histories of closed runs."""

from __future__ import annotations

from google.protobuf.duration_pb2 import Duration
from temporalio.api.namespace.v1 import NamespaceConfig
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, UpdateNamespaceRequest
from temporalio.client import Client

RETENTION_S = 30 * 24 * 3600
"""The development server's own default is one day: a report must outlive the weekend."""


async def keep_histories(client: Client) -> None:
    """Set the retention of the client's namespace, once for each database."""
    service = client.workflow_service
    described = await service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    if described.config.workflow_execution_retention_ttl.seconds != RETENTION_S:
        config = NamespaceConfig(workflow_execution_retention_ttl=Duration(seconds=RETENTION_S))
        await service.update_namespace(UpdateNamespaceRequest(namespace=client.namespace, config=config))
