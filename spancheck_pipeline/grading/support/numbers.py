"""Numbers that a text names, with units, currencies, percent and scale words: 30 is thirty is 30.0, 5 mg is not 5 g.

Dates are read first (``dates.py``), so that a day of a month is no number; which numbers decide is said in
``checks.py``.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from spancheck_pipeline.grading.support.dates import chinese_number, dates


class Quantity(NamedTuple):
    """One number of a text, in each of its readings."""

    text: str
    values: tuple[float, ...]
    """In base units of the dimension; ``1.500`` has two readings."""
    dimension: str | None
    """``percent``, ``currency:usd``, ``mass`` …; None for a bare number."""
    noun: str
    """The word after a bare number, else empty."""
    is_word: bool
    """Whether it is written out and small, as in *two reasons*: it counts only against another number of the same."""
    is_rough: bool
    """Whether the text says about, nearly, over …"""


_SMALL = {
    word: value
    for value, names in enumerate(
        (
            "zero", "one", "two zwei deux dos", "three drei trois tres", "four vier quatre cuatro", "five fünf cinq cinco",
            "six sechs seis", "seven sieben sept siete", "eight acht huit ocho", "nine neun neuf nueve",
            "ten zehn dix diez", "eleven elf onze once", "twelve zwölf douze doce", "thirteen", "fourteen vierzehn quatorze",
            "fifteen fünfzehn quinze quince", "sixteen", "seventeen", "eighteen", "nineteen",
        )
    )
    for word in names.split()
}  # fmt: skip
_TENS = {
    word: (index + 2) * 10
    for index, names in enumerate(
        (
            "twenty zwanzig vingt veinte", "thirty dreißig dreissig trente treinta", "forty vierzig quarante cuarenta",
            "fifty fünfzig cinquante cincuenta", "sixty sechzig soixante sesenta", "seventy siebzig setenta",
            "eighty achtzig ochenta", "ninety neunzig noventa",
        )
    )
    for word in names.split()
}  # fmt: skip
_SCALES = {
    "hundred": 1e2, "hundert": 1e2, "cent": 1e2, "thousand": 1e3, "tausend": 1e3, "mille": 1e3, "mil": 1e3,
    "million": 1e6, "millions": 1e6, "millionen": 1e6, "mio": 1e6, "millón": 1e6, "millones": 1e6, "mn": 1e6,
    "billion": 1e9, "billions": 1e9, "bn": 1e9, "milliarde": 1e9, "milliarden": 1e9, "mrd": 1e9, "milliard": 1e9,
    "milliards": 1e9, "trillion": 1e12, "trillions": 1e12, "dozen": 12.0, "lakh": 1e5, "crore": 1e7, "k": 1e3,
    "тысяч": 1e3, "миллион": 1e6, "миллиона": 1e6, "миллионов": 1e6, "миллиард": 1e9, "миллиарда": 1e9, "миллиардов": 1e9,
    "万": 1e4, "亿": 1e8, "千": 1e3, "百": 1e2, "億": 1e8,
}  # fmt: skip
_CURRENCY = {
    "$": "usd", "us$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "€": "eur", "eur": "eur", "euro": "eur",
    "euros": "eur", "£": "gbp", "gbp": "gbp", "pound sterling": "gbp", "pounds sterling": "gbp", "¥": "jpy", "jpy": "jpy",
    "yen": "jpy", "円": "jpy", "元": "cny", "cny": "cny", "rmb": "cny", "yuan": "cny", "₹": "inr", "inr": "inr",
    "rupees": "inr", "chf": "chf", "cad": "cad", "aud": "aud", "₽": "rub", "рублей": "rub", "cents": "cent",
}  # fmt: skip
_UNITS: dict[str, tuple[str, float]] = {
    name: (dimension, factor)
    for dimension, rows in {
        "percent": "% percent pct prozent pourcent porcento procent процентов процента =1;per cent=1",
        "points": "percentage points =1",
        "mass": "mg milligram milligrams =.001;g gram grams gramm=1;kg kilo kilos kilogram kilograms kilogramm =1000;"
        "µg μg mcg microgram micrograms =1e-6;tonne tonnes ton tons =1e6;lb lbs pound pounds =453.592;oz ounce ounces =28.3495",
        "length": "mm millimeter millimeters millimetre millimetres =.001;cm centimeter centimeters centimetre centimetres =.01;"
        "m meter meters metre metres =1;km kilometer kilometers kilometre kilometres =1000;in inch inches =.0254;"
        "ft foot feet =.3048;yd yard yards =.9144;mi mile miles =1609.344",
        "area": "m² sqm square meters square metres=1;km² =1e6;sq ft square feet ft² =.092903;acre acres =4046.86;ha hectare hectares =1e4",
        "volume": "ml milliliter milliliters millilitre =.001;l liter liters litre litres =1;gallon gallons =3.78541;dl =.1;cl =.01",
        "time": "second seconds sec secs sekunden =1;ms millisecond milliseconds =.001;minute minutes min mins minuten =60;"
        "hour hours hr hrs h stunden heures horas часов =3600;day days tag tage tagen jour jours día días giorni dias dagen день дня дней 天 日 =86400;"
        "week weeks woche wochen semaine semaines semana semanas недель 周 =604800",
        "months": "month months monat monate monaten mois mes meses mesi maanden месяц месяца месяцев 个月 =1;quarter quarters quartal =3;"
        "year years yr yrs jahr jahre jahren an ans année années año años anno anni ano anos jaar год года лет 年 =12;decade decades =120;"
        "century centuries =1200",
        "temperature": "°c celsius degrees celsius =1;",
        "fahrenheit": "°f fahrenheit degrees fahrenheit =1;",
        "data": "kb =1e3;mb =1e6;gb =1e9;tb =1e12",
        "energy": "kwh =1;mwh =1000;gwh =1e6",
        "power": "w watt watts =1;kw kilowatts =1000;mw megawatts =1e6;gw gigawatts =1e9",
        "speed": "mph =1.609344;km/h kph =1",
    }.items()
    for row in rows.split(";")
    if "=" in row
    for names, factor in [(row.split("=")[0], float(row.split("=")[1]))]
    for name in (_names(names) if False else names.split())  # two-word units are joined below
    for dimension in [dimension]
}  # fmt: skip
