from crawler.observations import (
    ChainEnd as ChainEnd,
)
from crawler.observations import (
    Hop as Hop,
)
from crawler.observations import (
    Observation as Observation,
)
from crawler.observations import (
    Question as Question,
)
from crawler.observations import (
    ServiceVerdict as ServiceVerdict,
)
from crawler.observations import (
    Verdict as Verdict,
)
from crawler.outcomes import (
    CommitmentOutcome as CommitmentOutcome,
)
from crawler.outcomes import (
    DocumentOutcome as DocumentOutcome,
)
from crawler.outcomes import (
    Family as Family,
)
from crawler.outcomes import (
    MetadataOutcome as MetadataOutcome,
)
from crawler.outcomes import (
    ObjectOutcome as ObjectOutcome,
)
from crawler.resolving import request_url as request_url
from crawler.storage.store_errors import StoreError as StoreError
from extractors.ark import Ark as Ark
from extractors.shared_errors import ArkauditError as ArkauditError
