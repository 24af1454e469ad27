"""Scrapy's settings, each with Scrapy's default and the reason. The defaults are safe: few and slow requests.

The settings that begin with ARKAUDIT are arkaudit's own; the command fills them from the configuration.
"""

from crawler.model import defaults

BOT_NAME = "arkaudit"
SPIDER_MODULES = ["crawler.spiders.arks_spider", "crawler.spiders.documents_spider"]
NEWSPIDER_MODULE = "crawler.spiders"

# -- identity

USER_AGENT = "arkaudit"  # default "Scrapy/VERSION". Hosts must see who sends the requests.

# -- politeness

ROBOTSTXT_OBEY = True  # default False. The audit is a guest.
DOWNLOAD_DELAY = 0  # the default. HostThrottle paces all requests, not only those of one spider.
DOWNLOAD_DELAY_JITTER = 0  # default 0.5, which halves some gaps.
CONCURRENT_REQUESTS_PER_DOMAIN = 1000  # default 8. HostThrottle limits by host and port; slots must not interfere.
CONCURRENT_REQUESTS = 1000  # default 16. Speed comes from many hosts at once.
# Default: slots by host name, and waiting requests are not counted.
DOWNLOADER = "crawler.politeness.request_queue.HostDownloader"
SCHEDULER_PRIORITY_QUEUE = (
    "crawler.politeness.request_queue.HostQueue"  # default: one slow host may fill CONCURRENT_REQUESTS.
)
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"  # default Lifo. Pages in the order of their links.
DOWNLOAD_TIMEOUT = defaults.TIMEOUT_S  # default 180 seconds, for one whole request.
RETRY_ENABLED = False  # default True, which retries at once without Retry-After; a failure is an observation.

# -- the wire

DOWNLOAD_HANDLERS = {
    # They keep the exact request target, guard addresses, and add credentials. Of Scrapy's other handlers aiohttp's
    # made a crawl 5 % faster and httpx's half as fast, and both rebuild the target.
    "http": "crawler.wire.credentialed.CredentialedDownloadHandler",
    "https": "crawler.wire.credentialed.CredentialedDownloadHandler",
    "file": None,  # default on: a link in a page must not read the local disk
    "data": None,
    "ftp": None,
    "s3": None,
}
DOWNLOADER_MIDDLEWARES = {
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,  # the gate decides (crawler/sources/gate.py)
    "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": None,  # crawler.wire.credentialed adds credentials
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "crawler.wire.middlewares.UsableUrls": 10,
    "crawler.wire.robots.ObeyRobots": 100,
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
    "scrapy.downloadermiddlewares.cookies.CookiesMiddleware": None,  # keeps all cookies, and downloads a list by itself
    "crawler.wire.middlewares.ChainCookies": 700,
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
    "crawler.wire.middlewares.HopRecorder": 600,
    "crawler.wire.credentialed.Redaction": 610,  # before any part of an answer is kept
    "crawler.wire.middlewares.BoundedCompression": 620,
}
SPIDER_MIDDLEWARES = {  # all of Scrapy's: each is a generator around the results of every answer
    "scrapy.spidermiddlewares.start.StartSpiderMiddleware": None,  # marks first requests; not needed
    "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None,  # a 404 is an observation; it reaches the callback
    "scrapy.spidermiddlewares.referer.RefererMiddleware": None,  # hosts need not know the citing document
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,  # an ARK may be long (2023, 3.1)
    "scrapy.spidermiddlewares.depth.DepthMiddleware": None,  # requests have their depth (crawler/model/crawl_requests.py)
    "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,  # warns about Scrapy's own middlewares
}
EXTENSIONS = {
    "scrapy.extensions.telnet.TelnetConsole": None,  # default on. No listening sockets.
    "crawler.wire.middlewares.BodyBounds": 0,
}
COOKIES_ENABLED = False  # default True. ChainCookies keeps them within one chain of requests.
DOWNLOAD_FAIL_ON_DATALOSS = False  # default True. A truncated body still has a status.
DOWNLOAD_MAXSIZE = 0  # default 1 GiB, an exception without a status; BodyBounds ends long bodies instead.
DOWNLOAD_WARNSIZE = 0  # default 32 MiB. BodyBounds warns.
DOWNLOAD_VERIFY_CERTIFICATES = False  # the default: a certificate's fault is a remark.
TWISTED_DNS_RESOLVER = (
    "crawler.wire.endpoints.ReportingResolver"  # default is IPv4 only, and loses the reason of a failure.
)

REMOTE_CONTROL_ENABLED = False  # default True. No listening sockets.

# -- the machine

CONCURRENT_ITEMS = 1  # default 100: a hundred tasks for each response take half a millisecond of two.

# -- arkaudit's own

ARKAUDIT_STORE: str | None = None  # the file in which `scrapy crawl` records a run; None is a temporary one in memory
ARKAUDIT_RESOLVER = defaults.GLOBAL_RESOLVER
ARKAUDIT_CONNECT_TO: list[str] = []  # HOST:PORT=ADDR:PORT
ARKAUDIT_ONLY_ROUTED = False  # a name without a route fails, without a look-up
ARKAUDIT_ALLOW_ADDRESSES: list[str] = []  # networks that the guard allows
ARKAUDIT_CA_FILE: str | None = None  # the authorities that `verifying_policy` trusts
ARKAUDIT_CREDENTIALS = None  # crawler.wire.credentials.Credentials, for your own hosts
ARKAUDIT_SIGNER = None  # an object whose headers(origin) sign each request; its text names the key
ARKAUDIT_RENDERER = None  # a function from crawler and reader of answers to a crawler.spiders.arks_spider.Renderer
ARKAUDIT_INTERVAL = defaults.INTERVAL_S
ARKAUDIT_HOSTS: dict[str, dict[str, float]] = {}  # your own hosts: their interval and concurrency
ARKAUDIT_MAX_HOPS = defaults.MAX_HOPS
ARKAUDIT_ATTEMPTS = defaults.ATTEMPTS
ARKAUDIT_BACKOFF = defaults.BACKOFF_S
ARKAUDIT_LONGEST_WAIT = defaults.LONGEST_WAIT_S
ARKAUDIT_BODY_LIMIT = 2**20  # bytes on the wire that judging an answer needs
ARKAUDIT_DECOMPRESSED_LIMIT = 128 * 2**20  # bytes that a compressed body may grow to
ARKAUDIT_DOCUMENT_LIMIT = 64 * 2**20  # bytes of a document
