"""Every identifier scheme the gateway knows, as tables by region: how it is written, checked, and when it is believed.

from sovctl.gateway.detect.schemes import FORMS, NUMBERS
{scheme.rule for scheme in NUMBERS}     # {"PL_PESEL", "RU_SNILS", ...}
"""

from ..validators.scheme import Form, Needs, Number
from . import (
    africa_oceania,
    british_isles,
    company_registers,
    east_asia,
    eastern_europe,
    former_soviet,
    latin_america,
    middle_east,
    north_america,
    northern_europe,
    south_asia,
    southern_europe,
    vat,
    western_europe,
    world,
)

_ALL: tuple[Number | Form, ...] = (
    *world.SCHEMES,
    *western_europe.SCHEMES,
    *northern_europe.SCHEMES,
    *southern_europe.SCHEMES,
    *eastern_europe.SCHEMES,
    *british_isles.SCHEMES,
    *company_registers.SCHEMES,
    *vat.SCHEMES,
    *former_soviet.SCHEMES,
    *middle_east.SCHEMES,
    *south_asia.SCHEMES,
    *east_asia.SCHEMES,
    *africa_oceania.SCHEMES,
    *north_america.SCHEMES,
    *latin_america.SCHEMES,
)

NUMBERS: tuple[Number, ...] = tuple(scheme for scheme in _ALL if isinstance(scheme, Number))
FORMS: tuple[Form, ...] = tuple(scheme for scheme in _ALL if isinstance(scheme, Form))

__all__ = ["FORMS", "NUMBERS", "Form", "Needs", "Number"]
