"""Asks a server all that fits or breaks what it says of itself."""

from typing import Any

import httpx
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings

__all__ = ["ask_all"]


def ask_all(url: str, mode: str, examples: int) -> None:
    """See that the server answers requests that fit its /openapi.json (mode positive) or break it (negative) as that
    says, and none with a server error. What fits may still be refused, for reasons that no such page can state."""
    page = httpx.get(f"{url}/openapi.json").json()
    checks = schemathesis.Config.from_dict({"checks": {"positive_data_acceptance": {"enabled": False}}})
    schema = schemathesis.openapi.from_dict(page, config=checks)

    @given(schema.as_strategy(generation_mode=schemathesis.GenerationMode(mode)))
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), database=None)
    def is_answered(case: Any) -> None:
        case.call_and_validate(base_url=url, session=session)

    with requests.Session() as session:
        session.trust_env = False
        is_answered()
