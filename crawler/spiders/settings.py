"""Scrapy's settings, each with Scrapy's default and our reason. Safe by default: a guest that asks slowly.

Settings whose names begin with ARKAUDIT are ours; the command fills them from the configuration.
"""

BOT_NAME = "arkaudit"
SPIDER_MODULES = [
    "crawler.spiders.arks_spider",
    "crawler.spiders.documents_spider",
]  # the registry is fetched by a verb alone
NEWSPIDER_MODULE = "crawler.spiders"

# -- who we are

USER_AGENT = "arkaudit (+https://pypi.org/project/arkaudit/)"  # default "Scrapy/VERSION". Hosts must know who asks.

# -- politeness

ROBOTSTXT_OBEY = True  # default False. We are guests.
DOWNLOAD_DELAY = 0  # the default. The throttle paces all requests, not only those of one spider (crawler/politeness/).
DOWNLOAD_DELAY_JITTER = 0  # default 0.5, which halves some gaps.
CONCURRENT_REQUESTS_PER_DOMAIN = (
    1000  # default 8. The throttle counts, by host and port; a slot must not be in its way.
)
CONCURRENT_REQUESTS = 1000  # default 16. Many hosts at once are the only honest way to be fast.
DOWNLOADER = (
    "crawler.politeness.request_queue.HostDownloader"  # default: slots by host name, and it doesn't count what waits.
)
SCHEDULER_PRIORITY_QUEUE = (
    "crawler.politeness.request_queue.HostQueue"  # default: one slow host may fill CONCURRENT_REQUESTS.
)
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"  # default Lifo. Pages in the order of their links.
DOWNLOAD_TIMEOUT = 30  # default 180 seconds, for the whole of one request.
RETRY_ENABLED = False  # default True, at once and deaf to Retry-After; a failure is an observation.

# -- the wire

DOWNLOAD_HANDLERS = {
    # The request target exactly as asked; guarded addresses; credentials where they belong. Of Scrapy's other handlers
    # aiohttp's made a crawl 5 % quicker and httpx's half as quick, and both rebuild the target.
    "http": "crawler.wire.credentialed.CredentialedDownloadHandler",
    "https": "crawler.wire.credentialed.CredentialedDownloadHandler",
    "file": None,  # default on: a link in a page must not read our disk
    "data": None,
    "ftp": None,
    "s3": None,
}
DOWNLOADER_MIDDLEWARES = {
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,  # the gate decides (crawler/sources/gate.py)
    "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": None,  # credentials are put on at the wire
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "crawler.wire.middlewares.UsableUrls": 10,
    "crawler.wire.robots.ObeyRobots": 100,
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
    "scrapy.downloadermiddlewares.cookies.CookiesMiddleware": None,  # keeps all jars, and fetches a list by itself
    "crawler.wire.middlewares.ChainCookies": 700,
    "crawler.wire.credentialed.LogIns": 705,  # next to the wire: it sees cookies before they are taken out
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
    "crawler.wire.middlewares.HopRecorder": 600,
    "crawler.wire.credentialed.Redaction": 610,  # before anything of an answer is kept
    "crawler.wire.middlewares.BoundedCompression": 620,
}
SPIDER_MIDDLEWARES = {  # all of Scrapy's: each is a generator around what every answer gives
    "scrapy.spidermiddlewares.start.StartSpiderMiddleware": None,  # marks first requests; all of ours are alike
    "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None,  # a 404 is an observation; it reaches the callback
    "scrapy.spidermiddlewares.referer.RefererMiddleware": None,  # no one needs to know where a citation is
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,  # an ARK may be long (2023, 3.1)
    "scrapy.spidermiddlewares.depth.DepthMiddleware": None,  # leads know their depth (crawler/model/crawl_requests.py)
    "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,  # warns of what only Scrapy's own do
}
EXTENSIONS = {
    "scrapy.extensions.telnet.TelnetConsole": None,  # default on. No listening sockets.
    "crawler.wire.middlewares.BodyBounds": 0,
    "crawler.pipelines.TrafficRecorder": 0,
}
ITEM_PIPELINES = {"crawler.pipelines.TlsProbePipeline": 200}
COOKIES_ENABLED = False  # default True. ChainCookies keeps them within one chain of requests.
DOWNLOAD_FAIL_ON_DATALOSS = False  # default True. A truncated body has a status all the same.
DOWNLOAD_MAXSIZE = 0  # default 1 GiB, an exception without a status; BodyBounds ends long bodies instead.
DOWNLOAD_WARNSIZE = 0  # default 32 MiB. BodyBounds speaks of it.
DOWNLOAD_VERIFY_CERTIFICATES = False  # the default: resolution is observed; a probe looks at the certificate apart.
TWISTED_DNS_RESOLVER = (
    "crawler.wire.endpoints.ReportingResolver"  # default is IPv4 only, and forgets why a name failed.
)

REMOTE_CONTROL_ENABLED = False  # default True. No listening sockets.

# -- the machine

CONCURRENT_ITEMS = 1  # default 100: starts a hundred tasks for each response, half a millisecond of the two it takes.

# -- ours

ARKAUDIT_STORE: str | None = (
    None  # the file in which `scrapy crawl` keeps a run; None is one in memory, gone at its end
)
ARKAUDIT_RESOLVER = "https://n2t.net/"  # asked about ARKs that are written without a resolver
ARKAUDIT_CONNECT_TO: list[str] = []  # HOST:PORT=ADDR:PORT
ARKAUDIT_ONLY_ROUTED = False  # a name without a route fails, and nothing is looked up
ARKAUDIT_ALLOW_ADDRESSES: list[str] = []  # networks that the guard lets through
ARKAUDIT_CA_FILE: str | None = None  # certificates of authorities for the TLS probe
ARKAUDIT_CREDENTIALS = None  # crawler.wire.credentials.Credentials, of hosts of one's own
ARKAUDIT_SIGNER = None  # crawler.wire.identity.RequestSigner, which signs each request
ARKAUDIT_LOG_INS = ()  # crawler.wire.credentials.LogIn, of hosts of one's own
ARKAUDIT_INTERVAL = 1.0  # seconds between two requests to a host; less than one only for hosts of one's own
ARKAUDIT_HOSTS: dict[str, dict[str, float]] = {}  # hosts of one's own: their interval and concurrency
ARKAUDIT_MAX_HOPS = 20  # redirects in a chain
ARKAUDIT_ATTEMPTS = 3  # how often a question is put at most, where the failure may pass
ARKAUDIT_BACKOFF = 2.0  # seconds before the second attempt, doubled for the next
ARKAUDIT_LONGEST_WAIT = 60.0  # seconds; a host that wants a longer pause, or longer intervals, is not asked
ARKAUDIT_BODY_LIMIT = 2**20  # bytes on the wire that judging an answer needs
ARKAUDIT_DECOMPRESSED_LIMIT = 128 * 2**20  # bytes that a compressed body may grow to
ARKAUDIT_DOCUMENT_LIMIT = 64 * 2**20  # bytes of a document
