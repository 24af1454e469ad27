#!/usr/bin/env python3
# Maps shelf-marks to ARKs. bookmark:/12148/old is what the first version wrote.
BASE = "https://n2t.net/ark:/%s/%s"
PATTERN = re.compile(r"ark:/?\d{5}/\w+")   # never "ark:/" + naan alone
TEMPLATE = f"https://resolver.example/ark:/12148/{name}"
QUERY = "ark:12148/* and (dc.title all {})"

KNOWN = {
    "Ms. 1": "https://familysearch.org/ark:61903/1:1:4NFP-K3M",   # first loan, Denmark: 45/1997
    "Ms. 2": "https://n2t.net/ark:53355/cl020163469",
    "Ms. 3": 'https://findingaids.princeton.example/ark:/88435/jd36sq68n',
}

def url(naan, name):
    """See ark:/$naan/$name; for one: https://n2t.net/ark:27927/rmp9267q0 (a map)."""
    return f"ark:/{naan}/{name}"   # remark:12345/67
