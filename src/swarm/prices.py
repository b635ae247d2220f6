"""What a model call costs: by prices of one's own, else by the tables of `genai-prices`, loaded when a price is first asked for.

The tables come with the package and are never fetched; a newer version has newer ones. Nothing is ever guessed: where no price is known,
the cost is None, which is not the same as nothing. See docs/usage.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import ConfigError

if TYPE_CHECKING:
    from .records import ModelCall

__all__ = ["Price"]

_MILLION = 1_000_000


class Price(NamedTuple):
    """What a model costs, in US dollars per million tokens, as providers write it. `Price(0, 0)` is free.

    Attributes:
        input: tokens that the model reads.
        output: tokens that it writes, hidden reasoning included.
        cached: tokens that it reads and its provider has in a cache; None: as `input`.
    """

    input: float
    output: float
    cached: float | None = None


def checked(prices: Mapping[str, Any] | None) -> dict[str, Price]:
    """The prices given, by model.

    Raises:
        TypeError: no mapping of names to a Price or a tuple like one.
        ValueError: a negative price.
    """
    if prices is not None and not isinstance(prices, Mapping):  # type: ignore[redundant-expr]  # callers without a type checker
        raise TypeError(f"prices must be a dict from a model's name to its Price, not {prices!r}")
    return {name: _price(name, value) for name, value in (prices or {}).items()}


def _price(name: Any, value: Any) -> Price:
    try:
        price = Price(*value)
        numbers: list[Any] = [price.input, price.output, price.input if price.cached is None else price.cached]
        is_right = isinstance(name, str) and all(isinstance(number, int | float) for number in numbers)
    except TypeError:
        is_right, price, numbers = False, Price(0, 0), []
    if not is_right:
        raise TypeError(f"prices[{name!r}]={value!r} must be a Price(input, output, cached), in US dollars per million tokens")
    if not all(number >= 0 for number in numbers):  # NaN is neither
        raise ValueError(f"prices[{name!r}]={value!r} must not be negative")
    return price


def cost_of(call: ModelCall, prices: Mapping[str, Price]) -> float | None:
    """The cost of a call in US dollars, or None if its price is not known.

    Looked up by the model that answered, then by the one that was asked (a deployment's name says nothing, the answer's does).
    """
    for name in (call.response_model, call.model):
        if name is not None and name in prices:
            return _own_cost(call, prices[name])
    for name in (call.response_model, call.model):
        if name is not None and (cost := _table_cost(call, name)) is not None:
            return cost
    return None


def require(model: str, provider: str | None, prices: Mapping[str, Price]) -> None:
    """Make sure that the price of a model is known, for a limit on cost.

    Args:
        model: as the request names it.
        provider: base URL, or None.
        prices: those of one's own.

    Raises:
        ConfigError: it is not; says what to do.
    """
    if model in prices or (_tables() is not None and _known(model, provider)):
        return
    if _tables() is None:
        why, way = "genai-prices, which knows the prices of models, is not installed", "pip install 'openswarm[prices]'"
    else:
        why, way = f"genai-prices knows no price of it{f' at {provider}' if provider else ''}", "a newer genai-prices may know it"
    raise ConfigError(
        f"Limits(cost=...) needs the price of the model {model!r}, and {why}. Give it in US dollars per million tokens, "
        f"Swarm(prices={{{model!r}: Price(input, output)}}), with Price(0, 0) for one that costs nothing; or {way}"
    )


def _own_cost(call: ModelCall, price: Price) -> float:
    inputs, cached = call.input_tokens or 0, min(call.cached_tokens, call.input_tokens or 0)
    for_cached = price.input if price.cached is None else price.cached
    return ((inputs - cached) * price.input + cached * for_cached + (call.output_tokens or 0) * price.output) / _MILLION


def _table_cost(call: ModelCall, model: str) -> float | None:
    tables = _tables()
    if tables is None or not _known(model, call.provider):
        return None
    inputs = call.input_tokens or 0
    usage = tables.Usage(input_tokens=inputs, output_tokens=call.output_tokens or 0, cache_read_tokens=min(call.cached_tokens, inputs))
    try:
        return float(tables.calc_price(usage, model, provider_api_url=call.provider).total_price)
    except (LookupError, ValueError):  # it is priced by something else than tokens
        return None


@lru_cache(maxsize=1024)
def _known(model: str, provider: str | None) -> bool:
    tables = _tables()
    try:
        tables.calc_price(tables.Usage(input_tokens=1, output_tokens=1, cache_read_tokens=0), model, provider_api_url=provider)
    except (LookupError, ValueError):
        return False
    return True


@lru_cache(maxsize=1)
def _tables() -> Any:
    try:
        import genai_prices
    except ImportError:
        return None
    return genai_prices
