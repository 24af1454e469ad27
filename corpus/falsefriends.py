"""Texts that look as if they held ARKs and hold none, or few: words that end in a label, templates, wild-cards."""

from __future__ import annotations

from collections.abc import Iterator

from documents import Document
from names import Citation

#: Without any ARK. What is here is not an ARK to any reader, however it is spelled.
_NONE = {
    "dev": {
        "prose-en.txt": """\
Ark: Survival of a parish chest
===============================

Denmark: 45/1997 was the last loan that carried the old stamp. Ozark: 12345/67 is a shelf in the annexe, not a
name; neither is the clerk's remark: 12345/abc, nor the benchmark: 74461/xk2 that the surveyors cut into the sill.

  is_dark: 12345/1
  bulwark:/harbour/3
  bookmark:/12148/btv1b8449691v
  spark://master.example.org:7077/job/12345
  skylark:12345/x6np1wh8k

The template reads ark:/NAAN/name, or ark:/NAAN/Name[Qualifier]; fill it in as ark:/<naan>/<name>. Every sheet has a
pattern such as ark:/XXXXX/XXXXXXXX, and the form asks for ark:/{naan}/{name}. Some write ark:/12345/{id}, some
ark:/$naan/$name, and the old form had ark:######## printed on it.

Noah's Ark: 300 cubits. The Ark: 1936/37 was its best season. Hark: 4/4 time, says the hymn book.
""",
        "modele-fr.txt": """\
Modèle de notice
----------------

L'identifiant s'écrit ark:/NAAN/nom ; pour la Bibliothèque, ark:/12148/… ou ark:/12148/bpt6k..., et pour le musée
ark:/53355/cl*. Dans le gabarit on lit ark:/12148/${id} et ark:/12148/%s ; ne pas saisir ark:/12148/ seul.

Le Danemark : 45/1997. Repère (bookmark: 12345/a1) à reporter. is_dark: false. Monsieur Clark: 1845/46.
""",
    },
    "held-out": {
        "vorlage-de.txt": """\
Vorlage für neue Einträge
-------------------------

Man schreibt ark:/NAAN/Name oder ark:/NAAN/NAME/QUALIFIER. Aus der Reihe ark:/12148/btv1b... wählt man einen Namen;
ark:/67531/{metaid} wird ersetzt, ebenso ark:/57799/${ac} und ark:/[NAAN]/[Name]. Das Muster ark:/53355/cy88* meint
alle Stücke, ark:/53355/ das Haus, ark:/NNNNN/... irgendeines.

Bismarck: 1871/72. Dänemark: 45/1997. Steiermark:/1849/3. Quark: 12345/67 g. is_dark: 13960/t1
Finnmark: 12/1944. starlark:12345/rule. dark:/99999/fk4 ist kein Name.
""",
        "plantilla-es.txt": """\
Plantilla de registro
---------------------

Se escribe ark:/NAAN/nombre o ark:/<NAAN>/<nombre>. Para la serie, ark:/13030/m5... o ark:/13030/m5…; para el museo,
ark:/53355/cy88*. En el formulario: ark:/{{naan}}/{{id}}, ark:/12345/:id, ark:/%NAAN%/%ID%.

Dinamarca: 45/1997. Patriark: 12148/abc. remark: 12345/x6. El Ark: 1936/37 fue su mejor año. lark:/12345/x6np1wh8k
""",
    },
}

#: With as many ARKs as there are ``{}``, among the same false friends.
_FEW = {
    "dev": """\
# The repository's house style

Write `ark:/41877/{{id}}` in templates and a whole name in text, as in {}. A bookmark: 12345/67 is no name; the pattern
ark:/12148/bpt6k* means a series, of which {} is one. Where a name is cut ({}, not ark:/12148/bpt6k...), say so.

is_dark: true
remark: see {}, formerly bulwark:/12345/x6
""",
    "held-out": """\
# Hausregeln

In Vorlagen steht `ark:/NAAN/name`, im Text ein ganzer Name, etwa {}. Ein bookmark: 12345/67 ist keiner; das Muster
ark:/12148/cb* meint eine Reihe, zu der {} gehört. Gekürzte Namen (ark:/65665/nv9...) sind verboten, {} ist richtig.

is_dark: true
remark: siehe {}, früher bulwark:/12345/x6
""",
}


def false_friends(half: str, source: Iterator[Citation]) -> Iterator[Document]:
    """The documents of one half that tempt a finder."""
    for name, text in _NONE[half].items():
        yield Document(f"false-friends/{name}", "tempting", name[-6:-4], "known", text.encode(), ())
    template = _FEW[half]
    cited = [next(source) for _ in range(template.count("{}"))]
    text = template.format(*(each.written for each in cited))
    language = {"dev": "en", "held-out": "de"}[half]
    arks = tuple(each.ark for each in cited)
    yield Document("false-friends/house-style.md", "tempting", language, "known", text.encode(), arks)
