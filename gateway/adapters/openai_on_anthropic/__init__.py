"""OpenAI's chat completions on an upstream with Anthropic's messages."""

from ..translation import Translation
from .answer import chat_answer
from .events import ChatEvents
from .request import messages_request

CHAT_ON_MESSAGES = Translation(messages_request, chat_answer, ChatEvents)

__all__ = ["CHAT_ON_MESSAGES"]
