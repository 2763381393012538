"""The LangChain retriever of `docs/examples`, with langchain-core, a gateway, the retrieval service and PostgreSQL."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import openai
import pytest
from gateway_yaml import API_KEY, OTHER_KEY
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_openai import ChatOpenAI
from search_site import CARDS, MERGER, Site

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "langchain_retriever.py"
QUESTION = "What did the board approve?"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("langchain_retriever", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.GatewayRetriever.model_rebuild(_types_namespace=vars(module))
    return module


def retriever(example: ModuleType, site: Site, key: str, **more: Any) -> Any:
    return example.GatewayRetriever(client=site.gateway.client(key), collection="handbook", **more)


def test_returns_chunks_that_the_client_may_read(example: ModuleType, site: Site) -> None:
    documents = retriever(example, site, API_KEY).invoke(QUESTION)
    assert [each.page_content for each in documents] == [MERGER, CARDS]
    first = documents[0].metadata
    assert (first["source"], first["page"], first["end"] - first["start"]) == ("board/minutes.md", 3, len(MERGER))
    assert first["version"].startswith("sha256:")
    assert len(retriever(example, site, API_KEY, k=1).invoke(QUESTION)) == 1
    assert [each.page_content for each in retriever(example, site, OTHER_KEY).invoke(QUESTION)] == [CARDS]


def test_a_chain_sends_the_chunks_to_a_model(example: ModuleType, site: Site) -> None:
    client = site.gateway.client(OTHER_KEY)
    model = ChatOpenAI(
        model="inside",
        api_key=OTHER_KEY,
        base_url=str(client.base_url),
        http_client=client._client,
        max_retries=0,
        use_responses_api=False,
    )
    prompt = ChatPromptTemplate.from_template("Answer with these sources only:\n{sources}\n\n{question}")
    sources = retriever(example, site, OTHER_KEY) | (lambda found: "\n".join(each.page_content for each in found))
    answer = ({"sources": sources, "question": RunnablePassthrough()} | prompt | model).invoke(QUESTION)
    assert CARDS in str(answer.content)
    assert MERGER not in str(answer.content)


def test_a_wrong_key_is_an_error_and_no_empty_answer(example: ModuleType, site: Site) -> None:
    with pytest.raises(openai.AuthenticationError):
        retriever(example, site, "no-such-key").invoke(QUESTION)
