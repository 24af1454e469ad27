# Bildet Signaturen auf ARKs ab; früher stand hier steinmark:/12148/alt.
VORLAGE = "https://n2t.net/ark:/%s/%s"
MUSTER = r"ark:/?[0-9]{5}/[^ ]+"
ABFRAGE = "ark:67531/* and titel"

BEKANNT = [
    "https://digital.bodleian.ox.ac.uk/ark:/29072/x022h279806b",  # Dänemark: 45/1997
    'https://www.familysearch.org/ark:/61903/3:1:HZLC-M25V-ZSL',
    "https://access.bl.example.uk/item/viewer/ark:81055/vdc_0000067677FD.0x000001",
]

def adresse(naan, name):
    """Wie ark:/{naan}/{name}, zum Beispiel http://n2t.net/ark:99166/p9wm3894w."""
    return "ark:/" + naan + "/" + name
