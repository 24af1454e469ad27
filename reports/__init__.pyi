from extractors.model.errors import ArkauditError as ArkauditError
from reports.exports import write_report as write_report
from reports.store.frames import Frames as Frames
from reports.tables.report_tables import TABLES as TABLES
from reports.tables.report_tables import Report as Report
from reports.tables.report_tables import load_report as load_report
