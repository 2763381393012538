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
from .detect import DetectSettings
from .gateway import GatewaySettings
from .handoff import HandoffSettings, WebhookSettings
from .ledger import LedgerSettings
from .limits import Limits
from .listen import Listen
from .load import check_settings, load_settings
from .model import Name, SettingsModel
from .policy import Action, ObstacleAction, PolicyRule, PolicySettings, RouteSettings
from .quota import CallerLimits, Price, PriceList, QuotaSettings
from .restore import RestoreSettings
from .routing import Fault, RoutingSettings, ShadowSettings
from .surface import SurfaceName
from .tokens import TokenSettings
from .tracing import TracingSettings
from .upstream import Capability, UpstreamKind, UpstreamSettings
from .vault import KekSettings, Pkcs11Settings, PostgresqlSettings, VaultSettings

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
