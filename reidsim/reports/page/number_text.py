"""How numbers of tables and prices are written in reports."""

from __future__ import annotations

import math


def number_text(value: object) -> str:
    """Write a number of a table or a price: whole numbers whole, others with up to six digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if not math.isfinite(value):
            return "-" if math.isnan(value) else str(value)
        return f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:,.6g}"
    return str(value)
