"""`gateway.clouds[].api` of site.yaml: the API of a cloud, and the settings of its provider."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AnyHttpUrl, StringConstraints

from ..types import FilePath, Secret, SpecModel, words

CloudApi = Literal["openai", "azure-openai", "anthropic", "bedrock", "vertex"]
"""An API of a cloud. The gateway translates between it and the APIs of clients."""

CloudModelName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,2047}$"),
    words("letters, digits and . _ : / @ -", kind="model name"),
]
"""Model, deployment or ARN at a cloud."""


class AzureOpenAI(SpecModel):
    """Azure OpenAI."""

    api_version: (
        Annotated[
            str,
            StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}(-preview)?$"),
            words('a version in quotes such as "2024-10-21"', kind="version"),
        ]
        | None
    ) = None
    """Version of the API by deployment, in quotes; `model` is then the deployment. Default: the v1 API."""


class Bedrock(SpecModel):
    """Amazon Bedrock."""

    region: Annotated[
        str,
        StringConstraints(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$"),
        words("a region such as eu-central-1", kind="region"),
    ]
    """Region for which requests are signed."""
    credentials: Secret | None = None
    """Content of an AWS shared credentials file, for signatures. Default: `api_key`, a Bedrock API key."""
    profile: Annotated[
        str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,64}$"), words("letters, digits and . _ -", kind="profile")
    ] = "default"
    """Section of `credentials`."""


class Vertex(SpecModel):
    """Google Vertex AI."""

    project: Annotated[
        str, StringConstraints(pattern=r"^[a-z0-9:.-]{1,64}$"), words("small letters, digits and : . -", kind="project")
    ]
    """Project of Google Cloud."""
    location: Annotated[
        str, StringConstraints(pattern=r"^[a-z0-9-]{1,40}$"), words("a location such as europe-west4", kind="location")
    ]
    """Location of the model."""
    publisher: Literal["anthropic", "google"]
    """`anthropic`: Anthropic's messages. `google`: the OpenAI-compatible API, for Gemini."""
    service_account: Secret
    """JSON key of a service account."""
    token_url: AnyHttpUrl = AnyHttpUrl("https://oauth2.googleapis.com/token")
    """Where a signed assertion is exchanged for an access token. Without `proxy`, its host is an address with a
    perimeter exception."""
    token_ca_file: FilePath | None = None
    """Private CA of the certificate of `token_url`, on the controller, relative to site.yaml. Default: the system's
    CAs."""
