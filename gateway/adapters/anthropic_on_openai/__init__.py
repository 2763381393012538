"""Anthropic's messages on an upstream with OpenAI's chat completions."""

from ..translation import Translation
from .answer import message_answer
from .events import MessageEvents
from .request import chat_request

MESSAGES_ON_CHAT = Translation(chat_request, message_answer, MessageEvents)

__all__ = ["MESSAGES_ON_CHAT"]
