"""Countries and states of the United States by region, for middle levels of a hierarchy of places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reidsim.drafts.names import words_of

# Regions of the world by continent, nearly those of the United Nations (M49), in whose place common names stand. What
# follows a bar is another name, or the spelling of a well-known file.
_COUNTRIES: dict[str, dict[str, str]] = {
    "Africa": {
        "Northern Africa": "Algeria, Egypt, Libya, Morocco, Sudan, Tunisia, Western Sahara",
        "Western Africa": "Benin, Burkina Faso, Cape Verde, Cabo Verde, Gambia, Ghana, Guinea, Guinea Bissau, Ivory"
        " Coast, Cote d'Ivoire, Liberia, Mali, Mauritania, Niger, Nigeria, Senegal, Sierra Leone, Togo",
        "Middle Africa": "Angola, Cameroon, Central African Republic, Chad, Congo, Democratic Republic of the Congo,"
        " DR Congo, Republic of the Congo, Equatorial Guinea, Gabon, Sao Tome and Principe, Zaire",
        "Eastern Africa": "Burundi, Comoros, Djibouti, Eritrea, Ethiopia, Kenya, Madagascar, Malawi, Mauritius,"
        " Mozambique, Reunion, Rwanda, Seychelles, Somalia, South Sudan, Tanzania, Uganda, Zambia, Zimbabwe",
        "Southern Africa": "Botswana, Eswatini, Swaziland, Lesotho, Namibia, South Africa",
    },
    "America": {
        "Northern America": "Bermuda, Canada, Greenland, United States, United States of America, USA, US",
        "Central America": "Belize, Costa Rica, El Salvador, Guatemala, Honduras, Mexico, Nicaragua, Panama",
        "Caribbean": "Antigua and Barbuda, Aruba, Bahamas, Barbados, Cuba, Curacao, Dominica, Dominican Republic,"
        " Grenada, Guadeloupe, Haiti, Jamaica, Martinique, Puerto Rico, Saint Lucia, Trinidad and Tobago, Trinidad,"
        " Trinadad&Tobago, US Virgin Islands",
        "South America": "Argentina, Bolivia, Brazil, Chile, Colombia, Columbia, Ecuador, French Guiana, Guyana,"
        " Paraguay, Peru, Suriname, Uruguay, Venezuela",
    },
    "Asia": {
        "Central Asia": "Kazakhstan, Kyrgyzstan, Tajikistan, Turkmenistan, Uzbekistan",
        "Eastern Asia": "China, Hong Kong, Hong, Japan, Korea, South Korea, North Korea, Macao, Mongolia, Taiwan",
        "South-eastern Asia": "Brunei, Burma, Myanmar, Cambodia, East Timor, Timor Leste, Indonesia, Laos, Malaysia,"
        " Philippines, Singapore, Thailand, Vietnam, Viet Nam",
        "Southern Asia": "Afghanistan, Bangladesh, Bhutan, India, Iran, Maldives, Nepal, Pakistan, Sri Lanka",
        "Western Asia": "Armenia, Azerbaijan, Bahrain, Cyprus, Georgia, Iraq, Israel, Jordan, Kuwait, Lebanon, Oman,"
        " Palestine, Qatar, Saudi Arabia, Syria, Turkey, Turkiye, United Arab Emirates, UAE, Yemen",
    },
    "Europe": {
        "Northern Europe": "Denmark, England, Estonia, Finland, Great Britain, Iceland, Ireland, Latvia, Lithuania,"
        " Northern Ireland, Norway, Scotland, Sweden, UK, United Kingdom, Wales",
        "Western Europe": "Austria, Belgium, France, Germany, Liechtenstein, Luxembourg, Monaco, Netherlands, Holland,"
        " Holand-Netherlands, Switzerland",
        "Eastern Europe": "Belarus, Bulgaria, Czech Republic, Czechia, Czechoslovakia, Hungary, Moldova, Poland,"
        " Romania, Russia, Russian Federation, Slovakia, Soviet Union, USSR, Ukraine",
        "Southern Europe": "Albania, Andorra, Bosnia, Bosnia and Herzegovina, Croatia, Greece, Italy, Kosovo, Malta,"
        " Macedonia, North Macedonia, Montenegro, Portugal, San Marino, Serbia, Slovenia, Spain, Yugoslavia",
    },
    "Oceania": {
        "Australia and New Zealand": "Australia, New Zealand",
        "Pacific islands": "American Samoa, Fiji, French Polynesia, Guam, Kiribati, Marshall Islands, Micronesia,"
        " New Caledonia, Northern Mariana Islands, Outlying-US(Guam-USVI-etc), Palau, Papua New Guinea, Samoa,"
        " Solomon Islands, Tonga, Tuvalu, Vanuatu",
    },
}
# Divisions of the states by region of the Census Bureau, each with its postal abbreviation.
_STATES: dict[str, dict[str, str]] = {
    "Northeast": {
        "New England": "Connecticut, CT, Maine, ME, Massachusetts, MA, New Hampshire, NH, Rhode Island, RI, Vermont,"
        " VT",
        "Middle Atlantic": "New Jersey, NJ, New York, NY, Pennsylvania, PA",
    },
    "Midwest": {
        "East North Central": "Illinois, IL, Indiana, IN, Michigan, MI, Ohio, OH, Wisconsin, WI",
        "West North Central": "Iowa, IA, Kansas, KS, Minnesota, MN, Missouri, MO, Nebraska, NE, North Dakota, ND,"
        " South Dakota, SD",
    },
    "South (U.S.)": {
        "South Atlantic": "Delaware, DE, District of Columbia, DC, Florida, FL, Georgia, GA, Maryland, MD, North"
        " Carolina, NC, South Carolina, SC, Virginia, VA, West Virginia, WV",
        "East South Central": "Alabama, AL, Kentucky, KY, Mississippi, MS, Tennessee, TN",
        "West South Central": "Arkansas, AR, Louisiana, LA, Oklahoma, OK, Texas, TX",
    },
    "West": {
        "Mountain": "Arizona, AZ, Colorado, CO, Idaho, ID, Montana, MT, Nevada, NV, New Mexico, NM, Utah, UT, Wyoming,"
        " WY",
        "Pacific": "Alaska, AK, California, CA, Hawaii, HI, Oregon, OR, Washington, WA",
    },
}
# The share of the values of a column that must be known.
_KNOWN = 0.8


@dataclass(frozen=True)
class Regions:
    """The places of a column by region.

    Parameters
    ----------
    levels : tuple of str
        What the levels are, the finer one first.
    region_of : dict of str to tuple of str
        Region at each level of every value that is a place known.
    """

    levels: tuple[str, str]
    region_of: dict[str, tuple[str, str]]


def regions_of(values: Iterable[str]) -> Regions | None:
    """Return the regions of countries, or of states of the United States; None where fewer than four of five are any.

    Upper and lower case, accents and signs between words make no difference.
    """
    values = list(values)
    for levels, places in _PLACES.items():
        found = {value: places[words] for value in values if (words := words_of(value.title())) in places}
        if found and len(found) >= _KNOWN * len(values):
            return Regions(levels, found)
    return None


def are_places(first: str, second: str) -> bool:
    """Tell whether two values are different places, however near their spellings are."""
    one, other = (words_of(value.title()) for value in (first, second))
    return one != other and any(one in places and other in places for places in _PLACES.values())


def _by_words(regions: dict[str, dict[str, str]]) -> dict[tuple[str, ...], tuple[str, str]]:
    return {
        words_of(name.strip().title()): (region, above)
        for above, inner in regions.items()
        for region, names in inner.items()
        for name in names.split(",")
    }


_PLACES = {("region", "continent"): _by_words(_COUNTRIES), ("division", "region"): _by_words(_STATES)}
