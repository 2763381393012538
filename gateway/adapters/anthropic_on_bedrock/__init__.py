"""Anthropic's messages on Converse and ConverseStream of Amazon Bedrock."""

from ..translation import Translation
from .answer import count_answer, message_answer
from .event_stream import EventStreamFramer
from .events import ConverseEvents
from .request import converse_request, count_request

MESSAGES_ON_CONVERSE = Translation(converse_request, message_answer, ConverseEvents)
COUNT_ON_BEDROCK = Translation(count_request, count_answer, ConverseEvents)

__all__ = ["COUNT_ON_BEDROCK", "MESSAGES_ON_CONVERSE", "EventStreamFramer"]
