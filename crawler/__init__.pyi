from crawler.model.observations import (
    ChainEnd as ChainEnd,
)
from crawler.model.observations import (
    CommitmentOutcome as CommitmentOutcome,
)
from crawler.model.observations import (
    DocumentOutcome as DocumentOutcome,
)
from crawler.model.observations import (
    Family as Family,
)
from crawler.model.observations import (
    Hop as Hop,
)
from crawler.model.observations import (
    MetadataOutcome as MetadataOutcome,
)
from crawler.model.observations import (
    ObjectOutcome as ObjectOutcome,
)
from crawler.model.observations import (
    Observation as Observation,
)
from crawler.model.observations import (
    Question as Question,
)
from crawler.model.observations import (
    ServiceVerdict as ServiceVerdict,
)
from crawler.model.observations import (
    Verdict as Verdict,
)
from crawler.model.resolving import request_url as request_url
from crawler.store import StoreError as StoreError
from extractors.model.ark import Ark as Ark
from extractors.model.errors import ArkauditError as ArkauditError
