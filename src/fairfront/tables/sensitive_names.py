"""Names of columns that say who people are or where they live, which may stand for groups."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable
from itertools import pairwise

from .findings import Finding, leave_out, words_of

WHO = """
    sex gender geschlecht sexe genre sexo genero sesso genere geslacht orientation orientierung
    age alter lebensalter edad eta leeftijd birth birthday birthdate dob geburt geburtsdatum geburtstag geburtsjahr
    geburtsland geburtsort naissance nacimiento nascita geboorte geboortedatum geboorteland
    marital married marriage civil familienstand zivilstand personenstand verheiratet etatcivil matrimonial estadocivil
    civile statocivile burgerlijke gehuwd parental pregnant schwanger enceinte embarazada incinta zwanger
    national nationality nationalitat nationalitaet nationalite nacionalidad nazionalita nationaliteit citizen
    citizenship citoyennete ciudadania cittadinanza staatsangehorigkeit staatsangehoerigkeit staatsburgerschaft
    staatsbuergerschaft burgerschap immigrant immigration migrationshintergrund native foreigner foreignworker
    foreignborn auslander auslaender etranger extranjero straniero vreemdeling
    race racial ethnic ethnicity hispanic latino ethnie etnia herkunft origine origen afkomst hautfarbe
    religion religious konfession croyance religione godsdienst geloof
    disability disabled handicap behinderung behindert schwerbehindert discapacidad disabilita invaliditeit
    language sprache muttersprache langue idioma lingua taal
"""
WHERE = """
    zip zipcode postcode postalcode postal plz postleitzahl codepostal codigopostal cap codicepostale neighborhood
    neighbourhood wohnort stadtteil quartier barrio quartiere woonplaats wijk buurt
"""
"""Words of names that say who people are, and where they live, which may stand for groups; in English, German, French,
Spanish, Italian and Dutch, without accents, two words of a name together too."""
THINGS = """
    vehicle car auto fahrzeug wagen vehicule voiture vehiculo coche veicolo voertuig building house home property
    dwelling gebaude gebaeude haus batiment maison edificio casa gebouw account konto compte cuenta conto rekening loan
    credit kredit policy contract vertrag company firm business firma machine equipment device product invoice file
"""
"""Words of what has an age besides people: ``vehicle_age``, ``age of the building``."""
AGES, THINGLY = frozenset({"age", "alter", "edad", "eta", "leeftijd"}), frozenset(THINGS.split())
BETWEEN = frozenset({"of", "the", "a", "du", "de", "des", "la", "del", "della", "der", "van", "het"})
SENSITIVE, PLACES = frozenset(WHO.split()), frozenset(WHERE.split())


def sensitive_finding(names: Iterable[str], numbers: Collection[str] = ()) -> tuple[Finding, ...]:
    """Name the columns whose names look sensitive, or say where people live, in one sentence.

    Places that are read as ``numbers`` are codes that happen to have no leading zero.
    """
    words: dict[str, set[str]] = {}
    for name in names:
        said = _about_people(words_of(name))
        words[name] = {*said, *map("".join, pairwise(said))}
    places = [name for name, each in words.items() if not PLACES.isdisjoint(each)]
    found = [name for name, each in words.items() if name in places or not SENSITIVE.isdisjoint(each)]
    if not found:
        return ()
    stand = f" ({', '.join(places)}: where people live may stand for groups)" if places else ""
    codes = [name for name in places if name in numbers]
    option = " ".join(f"--text {shlex.quote(name)}" for name in codes)
    text = f"; {', '.join(codes)} was read as a number: if it is a code, give {option}" if codes else ""
    sentence = (
        f"Columns that look sensitive and are read: {', '.join(found)}{stand}; leave them out with "
        f"{leave_out(*found)}{text}."
    )
    return (Finding(tuple(found), "flagged", sentence),)


def _about_people(words: list[str]) -> list[str]:
    """Return the words of a name without those of the age of a thing, which stands next to it."""
    named = [word for word in words if word not in BETWEEN]
    beside = [{*named[max(0, i - 1) : i], *named[i + 1 : i + 2]} for i in range(len(named))]
    about = [word for word, near in zip(named, beside, strict=True) if word not in AGES or THINGLY.isdisjoint(near)]
    return words if len(about) == len(named) else about
