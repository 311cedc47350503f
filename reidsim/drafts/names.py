"""What the name of a column tells: a direct identifier, or something that other people may know."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

Role = Literal["direct", "known"]


@dataclass(frozen=True)
class Hint:
    """What a column's name says it holds.

    Parameters
    ----------
    concept : str
        Such as ``"age"``.
    role : str
        ``"direct"`` if it names or reaches a person, ``"known"`` if others may know it of a person.
    rank : int
        Which columns are taken first as quasi-identifiers: 1 for what voter lists and the like hold, up to 3.
    """

    concept: str
    role: Role
    rank: int = 0


# Words that a name must hold next to each other, as `words_of` tells them apart, and what they mean; the first that
# fits counts, so direct identifiers come first. After "=" they are the whole name. English, and the commonest in
# German, French and Spanish.
_DIRECT: dict[str, str] = {
    "e-mail address": "email, e mail, mail address, mailaddress, correo",
    "phone number": "phone, telephone, =tel, telefon, =mobile, mobile number, mobilephone, cellphone, =handy, fax,"
    " telefono, phonenumber",
    "social security number": "ssn, social security, socialsecurity, sozialversicherungsnummer, ahv, nino, national id,"
    " nationalid, dni, personnummer, tax id, taxid, steuernummer",
    "record number": "mrn, medical record, patient id, patientid, patient no, patient number, =patient, person id,"
    " personid, subject id, subjectid, member id, memberid, customer id, customerid, user id, userid, client id,"
    " employee id, employeeid, case id, caseid, respondent id, uuid, guid, =id, =subject, =person",
    "account or licence number": "account number, =account, iban, credit card, creditcard, card number, passport,"
    " =licence, =license, driver licence, driver license, licence plate, license plate, insurance number,"
    " policy number, versicherungsnummer, vin",
    "name": "first name, firstname, last name, lastname, surname, full name, fullname, given name, forename,"
    " middle name, maiden name, family name, patient name, person name, customer name, user name, username, login,"
    " nachname, vorname, apellido, nombre, prenom, =nom, =name, =names",
    "address": "street, address, strasse, adresse, direccion, house number, ip address, ip, url, website, homepage,"
    " latitude, longitude, =lat, =lon, =lng, gps",
}
_KNOWN: dict[str, tuple[int, str]] = {
    "birth date": (
        1,
        "birth date, birthdate, date of birth, dob, birthday, geburtsdatum, fecha nacimiento, date naissance",
    ),
    "birth year": (1, "birth year, birthyear, year of birth, yob, geburtsjahr, =birth, =born"),
    "age": (1, "age, ages, alter, edad, agegroup, age group, ageyears"),
    "sex": (1, "sex, gender, geschlecht, sexe, sexo, genero"),
    "race": (1, "race, ethnicity, ethnic, ethnic group, hispanic, raza, ethnie"),
    "postal code": (
        1,
        "zip, zipcode, zip code, zip3, zip5, postcode, postal, postalcode, post code, plz, postleitzahl",
    ),
    "place": (
        1,
        "city, town, village, county, district, municipality, region, province, state, commune, canton, borough,"
        " parish, ward, tract, residence, ort, wohnort, gemeinde, bundesland, kreis, ville, ciudad, provincia, fips",
    ),
    "marital status": (2, "marital, marital status, married, civil status, familienstand, estado civil"),
    "occupation": (2, "occupation, job, profession, beruf, employer, workclass, employment, industry, profesion"),
    "education": (2, "education, degree, schooling, bildung, educacion"),
    "origin": (
        2,
        "nationality, citizenship, citizen, country, native country, country of birth, birthplace, nationalitaet,"
        " nacionalidad, origin",
    ),
    "religion": (2, "religion, denomination, konfession"),
    "language": (2, "language, mother tongue, sprache, idioma"),
    "household": (3, "household, household size, children, kids, dependants, dependents, relationship, family size"),
    "date of an event": (
        3,
        "admission, admitted, discharge, discharged, death, died, dod, visit date, hospitalization date",
    ),
    "income": (3, "income, salary, wage, einkommen"),
    "body": (3, "height, weight, groesse, gewicht, bmi"),
}


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a column's name in lower case: parts between other characters, and of ``camelCase``.

    Digits that end a word belong to it; accents are left out, and umlauts are what replaces them in plain text.
    """
    plain = unicodedata.normalize("NFKD", name.translate(_UMLAUTS))
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    parted = re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3 \2\4", plain)
    return tuple(re.findall(r"[^\W_]+", parted.lower()))


def hint_of(name: str) -> Hint | None:
    """Return what a column's name says it holds; None if it says nothing.

    Examples
    --------
    >>> hint_of("DateOfBirth").concept
    'birth date'
    >>> hint_of("page") is None
    True
    """
    text = f"= {' '.join(words_of(name))} ="
    return next((hint for phrase, hint in _PHRASES if phrase in text), None)


# Words of names whose whole numbers count or measure something, where the name says no more.
_QUANTITIES = frozenset(
    (
        "age", "amount", "anzahl", "charges", "children", "cost", "count", "days", "dias", "expend", "expenditure",
        "hours", "index", "jahre", "length", "los", "minutes", "months", "n", "number", "percent", "price", "rate",
        "rooms", "salary", "savings", "score", "size", "sum", "tage", "total", "value", "visits", "weeks", "year",
        "years", "zahl",
    )
)  # fmt: skip


def names_quantity(name: str) -> bool:
    """Tell whether a column's name says that its whole numbers count or measure something, and are no codes."""
    return not _QUANTITIES.isdisjoint(words_of(name))


_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})


def _phrases() -> tuple[tuple[str, Hint], ...]:
    direct = [(names, Hint(concept, "direct")) for concept, names in _DIRECT.items()]
    known = [(names, Hint(concept, "known", rank)) for concept, (rank, names) in _KNOWN.items()]
    return tuple((_delimited(phrase.strip()), hint) for names, hint in direct + known for phrase in names.split(","))


def _delimited(phrase: str) -> str:
    return f"= {phrase[1:]} =" if phrase.startswith("=") else f" {phrase} "


_PHRASES = _phrases()
