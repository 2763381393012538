"""`gateway.yaml` as typed values: what one gateway process needs to know.

`sovctl apply` renders the file from site.yaml. It holds paths and addresses, never a secret. Rules kept here: unknown
keys are errors, every problem is reported at once with its path, and nothing that would send raw text over an
unencrypted line is accepted. Needs only pydantic and PyYAML, so that the command line can read it anywhere.

    settings = load_settings(Path("/etc/sovctl/gateway.yaml"))
    settings.upstream("chat").base_urls
"""

from sovctl.gateway.settings.access import AccessSettings, IssuerSettings, TeamSettings
from sovctl.gateway.settings.admin import AdminListen
from sovctl.gateway.settings.detect import DetectSettings
from sovctl.gateway.settings.gateway import GatewaySettings, check_settings, load_settings
from sovctl.gateway.settings.handoff import HandoffSettings, WebhookSettings
from sovctl.gateway.settings.ledger import LedgerSettings
from sovctl.gateway.settings.limits import Limits
from sovctl.gateway.settings.listen import Listen
from sovctl.gateway.settings.model import Name, SettingsModel
from sovctl.gateway.settings.policy import Action, ObstacleAction, PolicyRule, PolicySettings, RouteSettings
from sovctl.gateway.settings.quota import CallerLimits, Price, PriceList, QuotaSettings
from sovctl.gateway.settings.restore import RestoreSettings
from sovctl.gateway.settings.routing import Fault, RoutingSettings, ShadowSettings
from sovctl.gateway.settings.surface import SurfaceName
from sovctl.gateway.settings.tokens import TokenSettings
from sovctl.gateway.settings.tracing import TracingSettings
from sovctl.gateway.settings.upstream import Capability, UpstreamKind, UpstreamSettings
from sovctl.gateway.settings.vault import KekSettings, Pkcs11Settings, PostgresqlSettings, VaultSettings

__all__ = [
    "AccessSettings",
    "Action",
    "AdminListen",
    "CallerLimits",
    "Capability",
    "DetectSettings",
    "Fault",
    "GatewaySettings",
    "HandoffSettings",
    "IssuerSettings",
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
    "QuotaSettings",
    "RestoreSettings",
    "RouteSettings",
    "RoutingSettings",
    "SettingsModel",
    "ShadowSettings",
    "SurfaceName",
    "TeamSettings",
    "TokenSettings",
    "TracingSettings",
    "UpstreamKind",
    "UpstreamSettings",
    "VaultSettings",
    "WebhookSettings",
    "check_settings",
    "load_settings",
]
