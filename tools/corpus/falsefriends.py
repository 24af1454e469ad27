"""Texts with few or no ARKs but many similar strings: words that end in a label, templates, wild-cards."""

from __future__ import annotations

import re
from collections.abc import Iterator

from documents import Document
from names import Citation

#: Texts without ARKs.
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

#: Texts with an ARK for each ``{}`` among false friends.
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

#: Texts of other kinds, with an ARK for each ``{}``.
_MORE = {
    "dev": {
        "mapping.py": (
            "en",
            """\
#!/usr/bin/env python3
# Maps shelf-marks to ARKs. bookmark:/12148/old is what the first version wrote.
BASE = "https://n2t.net/ark:/%s/%s"
PATTERN = re.compile(r"ark:/?\\d{{5}}/\\w+")   # never "ark:/" + naan alone
TEMPLATE = f"https://resolver.example/ark:/12148/{{name}}"
QUERY = "ark:12148/* and (dc.title all {{}})"

KNOWN = {{
    "Ms. 1": "{}",   # first loan, Denmark: 45/1997
    "Ms. 2": "{}",
    "Ms. 3": '{}',
}}

def url(naan, name):
    \"\"\"See ark:/$naan/$name; for one: {} (a map).\"\"\"
    return f"ark:/{{naan}}/{{name}}"   # remark:12345/67
""",
        ),
        "sru.log": (
            "en",
            """\
GET /SRU?query=ark%3A12148%2F%2A&maximumRecords=10 200
GET /SRU?operation=searchRetrieve&query=(arkPress%20all%20%22ark:12148/+%22) 200
GET /iiif/{} 200
GET /search?q=((((dc.subject+all+"Ark:+1936/37"))) 200
GET /{} 200
GET /ark:/12148/$1 404
GET /ark:/%7Bnaan%7D/%7Bname%7D 404
GET /about?spark:12345/rule 200
GET /{} 302
GET /ark:/NAAN/Name 404
""",
        ),
        "notes-fr.md": (
            "fr",
            """\
## Compte rendu

* L'arche : 300 coudées ; « Ark: 1936/37 » est un titre de journal de bord.
* Les gabarits `ark:/12148/${{id}}`, `ark:/12148/[id]` et `ark:/{{{{naan}}}}/…` restent en place.
* Notices revues : {} (carte), {} et {} ; la notice Clark: 1845/46 n'en est pas une.
* Préfixes attribués : ark:/13030/c7, ark:/99166/p9. Un seul nom y existe : {}.
* is_dark: 12345/1 ; repère (bookmark: 12345/a1) ; Danemark : 45/1997.
""",
        ),
        "resolver.conf": (
            "en",
            """\
# ark:/NAAN/... goes to the right place
RewriteRule ^/?ark:/12148/(.*)$ https://library.example/view/$1 [R=302]
RewriteRule ^/?ark:/53355/cl([0-9]+)$ https://museum.example/$1 [R]
location ~ ^/ark:/?(\\d+)/(.+)$ {{ return 302 /ark/$1/$2; }}
# moved by hand, see the ticket bulwark:/12345/x6
Redirect /{} https://library.example/a
Redirect /{} https://library.example/b
Redirect /{} https://library.example/c
# spark://master.example.org:7077/job/12345, skylark:12345/x6np1wh8k
Redirect /{} https://library.example/d
""",
        ),
        "inventaire.yaml": (
            "fr",
            """\
modele: "ark:/53355/%s"
motif: ark:/53355/cl*
is_dark: false
remark: 12345/abc
objets:
  - ark: {}
    titre: Vase
  - ark: {}
    titre: "Ark: Survival"
  - ark: {}
  - ark: ark:/12345/:id
  - identifiant: {}
  - quark: 12345/67
""",
        ),
        "house-rules.html": (
            "en",
            """\
<!DOCTYPE html><title>House rules</title>
<p>Write <code>ark:/NAAN/name</code>; the form shows <code>ark:/12148/{{id}}</code>
and <kbd>ark:/12148/&lt;id&gt;</kbd>.
<p>Good: <a href="{}">a chart</a>. Denmark: 45/1997 is a loan. The shoulder ark:/13030/kt is ours.
<p>Also good: {}, {} and <i>{}</i>. A bookmark: 12345/67 isn't, nor is is_dark:/12148/x.
<script>var next = "https://n2t.net/ark:/12148/" + id; var hark = "hark: 12148/4";</script>
""",
        ),
        "tickets.csv": (
            "en",
            """\
ticket,text,state
1,"template ark:/12148/%(name)s breaks",open
2,"see {}",done
3,"Ark: 300 cubits",done
4,"{} moved to {}",done
5,"pattern ark:12148/_ID_ and ark:12148/@@id@@",open
6,"Ozark: 12345/67; remark: 12345/abc",open
7,"cited as {}; was bulwark:/12148/x",done
""",
        ),
        "poem-en.txt": (
            "en",
            """\
Hark: 4/4 is the time; the lark:/12345/ sings.
The barque Ark: 1936/37 came home with {}
and two charts more, {} and {}.
Ask not for ark:/12148/ alone, nor for ark:/12148/…, nor ark:/xxxxx/xxxx;
Denmark: 45/1997, Ozark: 12345/67, and is_dark: 12345/1 are none.
""",
        ),
    },
    "held-out": {
        "abbildung.py": (
            "de",
            """\
# Bildet Signaturen auf ARKs ab; früher stand hier steinmark:/12148/alt.
VORLAGE = "https://n2t.net/ark:/%s/%s"
MUSTER = r"ark:/?[0-9]{{5}}/[^ ]+"
ABFRAGE = "ark:67531/* and titel"

BEKANNT = [
    "{}",  # Dänemark: 45/1997
    '{}',
    "{}",
]

def adresse(naan, name):
    \"\"\"Wie ark:/{{naan}}/{{name}}, zum Beispiel {}.\"\"\"
    return "ark:/" + naan + "/" + name
""",
        ),
        "zugriffe.log": (
            "de",
            """\
GET /SRU?query=ark%3A67531%2F%2B 200
GET /suche?q=((((thema+all+"Ark:+1871/72"))) 200
GET /{} 200
GET /iiif/{} 200
GET /ark:/67531/$2 404
GET /ark:/%7B%7Bnaan%7D%7D/x 404
GET /{} 302
GET /jobs/spark:12345/rule 200
GET /{} 200
""",
        ),
        "actas-es.md": (
            "es",
            """\
## Acta

* El arca: 300 codos; «Ark: 1936/37» es un título.
* Siguen las plantillas `ark:/65665/${{ac}}`, `ark:/65665/<id>` y `ark:/{{naan}}/{{id}}`.
* Revisados: {} (mapa), {} y {}; Clark: 1845/46 no lo es.
* Prefijos: ark:/13030/m5, ark:/99166/w6. Un nombre: {}.
* is_dark: 12345/1; Dinamarca: 45/1997; marca (bookmark: 12345/a1).
""",
        ),
        "umleitung.conf": (
            "de",
            """\
RewriteRule ^/?ark:/67531/(.*)$ https://bibliothek.example/$1 [R=302]
location ~ ^/ark:(\\d+)/(.+)$ {{ return 302 /ark/$1/$2; }}
# von Hand, siehe finnmark:/12345/x6
Redirect /{} https://bibliothek.example/a
Redirect /{} https://bibliothek.example/b
# quark:12345/67
Redirect /{} https://bibliothek.example/c
Redirect /{} https://bibliothek.example/d
""",
        ),
        "bestand.yaml": (
            "de",
            """\
vorlage: "ark:/29072/%s"
muster: ark:/29072/x0*
is_dark: true
bemerkung: "remark: 12345/abc"
stuecke:
  - ark: {}
  - ark: ark:/12345/:id
  - kennung: {}
    titel: "Ark: 1871/72"
  - ark: {}
  - quark: 12345/67
  - ark: {}
""",
        ),
        "reglas.html": (
            "es",
            """\
<!DOCTYPE html><title>Reglas</title>
<p>Se escribe <code>ark:/NAAN/nombre</code>; el formulario muestra <code>ark:/65665/{{id}}</code>.
<p>Bien: <a href="{}">un mapa</a>. Dinamarca: 45/1997 es un préstamo; ark:/13030/ft es un prefijo.
<p>También: {}, {} y <b>{}</b>. No: is_dark:/12148/x, remark: 12345/67.
<script>const url = "https://n2t.net/ark:/65665/" + id; // remark: 65665/4</script>
""",
        ),
        "aufgaben.csv": (
            "de",
            """\
nummer,text,stand
1,"Vorlage ark:/67531/%(name)s",offen
2,"siehe {}",fertig
3,"Ark: 300 Ellen",fertig
4,"{} ist jetzt {}",fertig
5,"Muster ark:67531/_ID_ und ark:67531/@id",offen
6,"zitiert als {}; früher bollwark:/12148/x",fertig
""",
        ),
        "verse-de.txt": (
            "de",
            """\
Hark: 4/4 ist der Takt; die Finnmark:/1944/ liegt weit.
Die Bark Ark: 1871/72 brachte {}
und zwei Karten, {} und {}.
Frag nicht nach ark:/67531/ allein, nicht nach ark:/67531/… oder ark:/nnnnn/nnnn;
Dänemark: 45/1997 und is_dark: 12345/1 sind keine.
""",
        ),
    },
}


def false_friends(half: str, source: Iterator[Citation]) -> Iterator[Document]:
    """Yield the documents of one half that provoke false finds."""
    for name, text in _NONE[half].items():
        yield Document(f"false-friends/{name}", "tempting", name[-6:-4], "known", text.encode(), ())
    template = _FEW[half]
    cited = [next(source) for _ in range(template.count("{}"))]
    text = template.format(*(each.written for each in cited))
    language = {"dev": "en", "held-out": "de"}[half]
    arks = tuple(each.ark for each in cited)
    yield Document("false-friends/house-style.md", "tempting", language, "known", text.encode(), arks)
    for name, (language, template) in _MORE[half].items():
        named = [next(source) for _ in range(len(re.findall(r"(?<!\{)\{\}(?!\})", template)))]
        text = template.format(*(each.written.removeprefix("/") for each in named))
        yield Document(
            f"false-friends/{name}", "tempting", language, "known", text.encode(), tuple(each.ark for each in named)
        )
