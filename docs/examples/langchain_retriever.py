"""LangChain retriever: searches a collection through the gateway, with the groups of the client's API key.

    client = OpenAI(base_url="https://GATEWAY:8443/v1", api_key=KEY, http_client=httpx.Client(verify=tls))
    documents = GatewayRetriever(client=client, collection="handbook").invoke("When is a lost card blocked?")

An error of the gateway is an exception of the `openai` package: nothing is found silently.
"""

from __future__ import annotations

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from openai import OpenAI


class GatewayRetriever(BaseRetriever):
    """Returns chunks as documents, with source, page and offsets in their metadata."""

    client: OpenAI
    collection: str
    k: int = 5
    """Maximum chunks, 1 to 50."""

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - BaseRetriever passes it
    ) -> list[Document]:
        found = self.client.vector_stores.search(self.collection, query=query, max_num_results=self.k)
        return [
            Document(
                page_content="".join(part.text for part in each.content),
                metadata={**(each.attributes or {}), "source": each.filename, "score": each.score},
            )
            for each in found.data
        ]
