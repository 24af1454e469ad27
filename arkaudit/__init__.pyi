from arkaudit.audits.check_process import check as check
from crawler.model.observations import Verdict as Verdict
from extractors.documents import Document as Document
from extractors.find import find_arks as find_arks
from extractors.mentions.mention import Mention as Mention
from extractors.model.ark import Ark as Ark
from extractors.model.errors import ArkauditError as ArkauditError
from extractors.two_passes import extract as extract
from reports.store.frames import Frames as Frames
from reports.tables.report_tables import load_report as load_report

__version__: str
