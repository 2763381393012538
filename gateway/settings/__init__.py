"""`gateway.yaml` as typed values: the settings of a gateway process.

`sovctl apply` renders the file from site.yaml. It contains paths and addresses, and no secrets.

- Unknown keys are errors. One run reports all problems, each with its path.
- Settings that would send raw text over an unencrypted connection are rejected.
- Only pydantic and PyYAML are imported, so that the command line can read the file on any machine.

    settings = load_settings(Path("/etc/sovctl/gateway.yaml"))
    settings.upstream("chat").base_urls
"""

from .access import AccessSettings, IdentityProviderSettings, TeamSettings
from .admin import AdminListen
from .answers.handoff import HandoffSettings, WebhookSettings
from .answers.restore import RestoreSettings
from .base.model import Name, SettingsModel
from .base.surface import SurfaceName
from .detection.detect import DetectSettings
from .gateway import GatewaySettings
from .ledger import LedgerSettings
from .listen import Listen
from .load import check_settings, load_settings
from .policy import Action, ObstacleAction, PolicyRule, PolicySettings, RouteSettings
from .retrieval import RetrievalServiceSettings
from .tokens import TokenSettings
from .tracing import TracingSettings
from .traffic.limits import Limits
from .traffic.quota import CallerLimits, Price, PriceList, QuotaSettings
from .traffic.request_fields import FieldAction, RequestFieldsRow
from .traffic.routing import FallbackCause, Fault, RoutingSettings, ShadowSettings, WeightedUpstream
from .traffic.upstream import Capability, ProxySettings, UpstreamKind, UpstreamSettings
from .traffic.upstream_api import BedrockSettings, UpstreamApi, VertexSettings
from .vault import KekSettings, Pkcs11Settings, PostgresqlSettings, VaultSettings

__all__ = [
    "AccessSettings",
    "Action",
    "AdminListen",
    "BedrockSettings",
    "CallerLimits",
    "Capability",
    "DetectSettings",
    "FallbackCause",
    "Fault",
    "FieldAction",
    "GatewaySettings",
    "HandoffSettings",
    "IdentityProviderSettings",
    "KekSettings",
    "LedgerSettings",
    "Limits",
    "Listen",
    "Name",
    "ObstacleAction",
    "Pkcs11Settings",
    "PolicyRule",
    "PolicySettings",
    "PostgresqlSettings",
    "Price",
    "PriceList",
    "ProxySettings",
    "QuotaSettings",
    "RequestFieldsRow",
    "RestoreSettings",
    "RetrievalServiceSettings",
    "RouteSettings",
    "RoutingSettings",
    "SettingsModel",
    "ShadowSettings",
    "SurfaceName",
    "TeamSettings",
    "TokenSettings",
    "TracingSettings",
    "UpstreamApi",
    "UpstreamKind",
    "UpstreamSettings",
    "VaultSettings",
    "VertexSettings",
    "WebhookSettings",
    "WeightedUpstream",
    "check_settings",
    "load_settings",
]
