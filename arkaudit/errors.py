"""Every error that a caller may meet; `except ArkauditError` catches all of them, and no bug.

ArkauditError
├── NotAnArk, ValueError        a text holds no ARK
│   └── NamespaceOnly           it names a NAAN or a shoulder, not an object
├── SourceUnreadable, OSError   `extract`: a path names nothing, or it is a URL
├── UserMistake                 a seed, an option or a file that the user can put right
│   ├── ConfigError             a configuration that can't be used; it names the key, and the line
│   ├── KeyUnusable, ValueError a file that is no private key, or that others can read
│   └── Running                 a named audit runs already
├── BadSchedule, ValueError     a schedule that no calendar knows
├── CheckFailed                 `check`: its process died
├── PartsFailed                 parts of a dataset could not be made, for now
│   └── SchedulerLost           the scheduler of a cluster is gone
├── StorageFailed               object storage does not do what it was asked for
├── AnotherWorker               a worker of a cluster would find other things
├── RunInterrupted              a signal has ended a run; what was observed is kept
│   └── AuditInterrupted        the same, with the number of the run
├── StoreError                  a store can't be used
│   ├── StoreUnopenable         there can be no store at that path
│   │   ├── NotOurStore         it is no store of ours
│   │   ├── UnknownStoreVersion another version of arkaudit has written it
│   │   └── StoreBusy           another arkaudit is at work in it
│   ├── StoreUnwritable         the disk is full, or the file was taken away
│   └── StoreDamaged            what is in it can't be read
├── StoreUnreadable             `load_report`: there is no such store, or no such run in it
├── DatasetUnreadable           a file of a dataset is missing, or is none
├── UnknownTable, KeyError      `AuditFrames.table`: the report has no such table
├── UnknownWord, ValueError     a column holds a word that its vocabulary has not
├── InventoryUnreadable         an inventory can't be used
├── ReportUnwritable            a report can't be written where it was to go
├── OutputUnwritable            standard output can't be written to
│
│   The registry of NAANs:
├── NotARegistry, ValueError    a file is no copy of the registry
├── RegistryRefused             what was fetched is less than what is known
├── CacheUnwritable             the copy can't be kept
│
│   In a crawl, as the failure of a request:
├── AddressRefused              an address that may not be reached, such as a private one
├── NameNotRouted               a name that ``only_routed`` leads nowhere
├── NameFailure                 a name has no address
│   ├── NameNotFound            there is no such name
│   ├── NameServerFailed        its name server has failed
│   ├── NameServerSilent        its name server did not answer
│   └── LookUpNotBegun          we were too slow ourselves
├── NotAsked                    a host that was given up, or an answer that no one waits for any more
├── ProxyFailed                 the fault of a proxy, not of a host
├── BadLocation, ValueError     a redirect to what is no URL
├── BadRoute, ValueError        a ``connect_to`` that names no address
├── TooSlow                     a pattern of the user takes too long
│
└── WorkerError                 a parser in its own process
    ├── WorkerDied              it crashed
    │   └── WorkerKilled        it was killed, and killed again
    ├── WorkerTimeout           it took too long
    ├── WorkerOutOfMemory       it wanted too much memory
    └── WorkerFailed            it raised an exception
"""

from __future__ import annotations

from arkaudit.audits import AuditInterrupted
from arkaudit.check_process import CheckFailed
from arkaudit.config_files import ConfigError
from arkaudit.datasets.cluster import AnotherWorker, SchedulerLost
from arkaudit.datasets.connection import DatasetUnreadable
from arkaudit.exits import OutputUnwritable
from arkaudit.schedule_ledger import BadSchedule, Running
from crawler.model.addresses import BadRoute
from crawler.model.resolving import BadLocation
from crawler.politeness.throttle import NotAsked
from crawler.registry_update import CacheUnwritable, RegistryRefused
from crawler.sources.gate import TooSlow
from crawler.store import (
    NotOurStore,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreUnopenable,
    StoreUnwritable,
    UnknownStoreVersion,
)
from crawler.wire.endpoints import (
    AddressRefused,
    LookUpNotBegun,
    NameFailure,
    NameNotFound,
    NameNotRouted,
    NameServerFailed,
    NameServerSilent,
)
from crawler.wire.handlers import ProxyFailed
from crawler.wire.identity import KeyUnusable
from extractors.model.errors import (
    ArkauditError,
    PartsFailed,
    RunInterrupted,
    SourceUnreadable,
    StorageFailed,
    UserMistake,
)
from extractors.model.naan import NotARegistry
from extractors.model.normalize import NamespaceOnly, NotAnArk
from extractors.processes.worker import (
    WorkerDied,
    WorkerError,
    WorkerFailed,
    WorkerKilled,
    WorkerOutOfMemory,
    WorkerTimeout,
)
from reports.exports import ReportUnwritable
from reports.store.frames import StoreUnreadable
from reports.store.inventory import InventoryUnreadable
from reports.store.typed_columns import UnknownWord
from reports.tables.report_tables import UnknownTable

__all__ = [
    "AddressRefused",
    "AnotherWorker",
    "ArkauditError",
    "AuditInterrupted",
    "BadLocation",
    "BadRoute",
    "BadSchedule",
    "CacheUnwritable",
    "CheckFailed",
    "ConfigError",
    "DatasetUnreadable",
    "InventoryUnreadable",
    "KeyUnusable",
    "LookUpNotBegun",
    "NameFailure",
    "NameNotFound",
    "NameNotRouted",
    "NameServerFailed",
    "NameServerSilent",
    "NamespaceOnly",
    "NotARegistry",
    "NotAnArk",
    "NotAsked",
    "NotOurStore",
    "OutputUnwritable",
    "PartsFailed",
    "ProxyFailed",
    "RegistryRefused",
    "ReportUnwritable",
    "RunInterrupted",
    "Running",
    "SchedulerLost",
    "SourceUnreadable",
    "StorageFailed",
    "StoreBusy",
    "StoreDamaged",
    "StoreError",
    "StoreUnopenable",
    "StoreUnreadable",
    "StoreUnwritable",
    "TooSlow",
    "UnknownStoreVersion",
    "UnknownTable",
    "UnknownWord",
    "UserMistake",
    "WorkerDied",
    "WorkerError",
    "WorkerFailed",
    "WorkerKilled",
    "WorkerOutOfMemory",
    "WorkerTimeout",
]
