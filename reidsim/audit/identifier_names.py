"""Names of columns by which people are named or reached, in the languages that such files come in."""

from __future__ import annotations

import re
import unicodedata

# Phrases of words next to each other, as `words_of` tells them apart; after "=" they are the whole name. English,
# German, French, Spanish, Italian, Portuguese, Dutch and Scandinavian.
_NAMES: dict[str, str] = {
    "e-mail address": "email, e mail, mail address, mailaddress, mailadresse, correo, courriel, posta elettronica,"
    " emailadres, epost, e post",
    "telephone number": "phone, telephone, phonenumber, mobile number, mobilephone, cellphone, =mobile, =tel, =handy,"
    " telefon, telefonnummer, handynummer, telefono, telefone, celular, cellulare, telefoon, gsm, portable number, fax",
    "social security or tax number": "ssn, social security, socialsecurity, national id, nationalid, tax id, taxid,"
    " tin, sozialversicherungsnummer, svnr, steuernummer, steuer id, ahv, nino, nir, insee, numero securite sociale,"
    " dni, nie, curp, rfc, cpf, codice fiscale, codicefiscale, bsn, burgerservicenummer, personnummer, fodselsnummer,"
    " cpr, pesel, nhs number, nhs no, nhsnumber",
    "insurance number": "insurance no, insurance number, insurance id, insurance nr, insuranceno, insurancenumber,"
    " insuranceid, policy number, policy no, versicherungsnummer, versicherten nr, versichertennummer, kvnr,"
    " krankenversicherungsnummer, health card, medicare number, medicaid id, mbi, numero assurance, numero poliza,"
    " numero afiliacion, polisnummer",
    "record number": "mrn, medical record, record number, record no, record id, recordid, chart number, patient id,"
    " patientid, patient no, patient nr, patient number, =patient, =pat, pat id, person id, personid, =pid, =person,"
    " subject id, subjectid, =subject, member id, memberid, participant id, participantid, customer id, customerid,"
    " client id, user id, userid, employee id, employeeid, student id, case id, caseid, case number, fallnummer,"
    " aktenzeichen, patientennummer, patienten nr, patienten id, numero dossier, numero historia, historia clinica,"
    " numero paciente, id paciente, numero cartella, respondent id, respid, uuid, guid, =id, =uid",
    "account, card or licence number": "account number, account no, accountno, accountnumber, =account, iban, bic,"
    " kontonummer, =konto, numero cuenta, numero compte, conto corrente, credit card, creditcard, card number, cardno,"
    " kreditkarte, passport, passeport, pasaporte, reisepass, ausweisnummer, driver licence, driver license,"
    " fuhrerschein, fuehrerschein, licence plate, license plate, kennzeichen, licence number, license number, =licence,"
    " =license, matricula, vin",
    "name": "first name, firstname, last name, lastname, surname, full name, fullname, given name, givenname, forename,"
    " middle name, maiden name, family name, familyname, patient name, person name, customer name, user name, username,"
    " login, nachname, vorname, familienname, =nom, nom famille, prenom, =nombre, apellido, apellidos, cognome, =nome,"
    " achternaam, voornaam, =naam, efternamn, fornamn, etternavn, fornavn, =name, =names, =namn, =navn",
    "address": "street, address, strasse, =str, hausnummer, adresse, direccion, indirizzo, endereco, =straat, =adres,"
    " house number, ip address, =ip, url, website, homepage, latitude, longitude, =lat, =lon, =lng, gps, geolocation",
}
# Last words of names of numbers, which may be anybody's or anything's.
_NUMBERED = frozenset(
    {"id", "ids", "uid", "hid", "no", "nr", "num", "number", "nummer", "numero", "key", "kennung", "idx", "identifier"}
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a column's name in lower case and plain letters: those of ``camelCase``, too."""
    plain = unicodedata.normalize("NFKD", name.translate(_UMLAUTS))
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    parted = re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3 \2\4", plain)
    return tuple(re.findall(r"[^\W_]+", parted.lower()))


def named_identifier(name: str) -> str:
    """Return what names a person or reaches one, if a column's name says that it holds it; else nothing.

    Examples
    --------
    >>> named_identifier("InsuranceNo")
    'insurance number'
    >>> named_identifier("page")
    ''
    """
    text = f"= {' '.join(words_of(name))} ="
    return next((what for phrase, what in _PHRASES if phrase in text), "")


def is_numbered(name: str) -> bool:
    """Tell whether a name ends as those of numbers do that something is filed under, such as ``household_id``."""
    words = words_of(name)
    return bool(words) and words[-1] in _NUMBERED


def _phrases() -> tuple[tuple[str, str], ...]:
    return tuple(
        (f"= {phrase[1:]} =" if phrase.startswith("=") else f" {phrase} ", what)
        for what, names in _NAMES.items()
        for phrase in (part.strip() for part in names.split(","))
    )


_PHRASES = _phrases()
