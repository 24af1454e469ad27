"""All errors of arkaudit, imported at their first use. `except ArkauditError` catches all of them, but no bug.

ArkauditError
├── NotAnArk, ValueError        a text holds no ARK
│   └── NamespaceOnly           a text holds a NAAN or a shoulder, but no name
├── SourceUnreadable, OSError   `extract`: a path does not exist, or is a URL
├── UserMistake                 a mistake in a seed, an option, a file or its place; a report can't be written
│   ├── ConfigError             an invalid configuration, with the key or the line
│   └── AuditRunning            a named audit is already running
├── RunInterrupted              a signal ended a run; its observations are kept
│   └── AuditInterrupted        the same, with the id of the run
├── StoreError                  a store can't be used
│   ├── StoreUnopenable         there is no such store or run, or another process uses the store
│   ├── StoreUnwritable         the disk is full, or the file was removed
│   └── StoreDamaged            the content can't be read
├── UnknownWord, ValueError     a column holds a word outside its vocabulary
├── OutputUnwritable            standard output can't be written to
│
│   The registry of NAANs:
├── NotARegistry, ValueError    a file or an answer is not a copy of the registry
│
│   In a crawl, as the failure of a request:
├── AddressRefused              a forbidden address, or a name without a route under ``only_routed``
├── NameNotFound                the name does not exist
├── NameServerFailed            the name server failed
├── NameServerSilent            the name server did not answer
├── LookUpNotBegun              this machine was too slow
├── HostGivenUp                 a host that was given up, or a run that has ended
├── ProxyFailed                 a proxy failed, not the host
├── BadLocation, ValueError     a redirect to an invalid URL
│
└── WorkerError                 a parser in its own process failed, or raised an exception
    ├── WorkerDied              it crashed
    │   └── WorkerKilled        it was killed twice
    ├── WorkerTimeout           it took too long
    └── WorkerOutOfMemory       it needed too much memory
"""

from extractors.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
