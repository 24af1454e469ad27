"""Default values of settings that the command, the configuration and the Scrapy project share."""

#: The resolver that knows every NAAN, for ARKs that are written without one.
GLOBAL_RESOLVER = "https://n2t.net/"
#: Seconds between two requests to a host; less than one only for the operator's own hosts.
INTERVAL_S = 1.0
#: Seconds for one whole request.
TIMEOUT_S = 30.0
#: Maximum number of attempts after temporary failures, the first one included.
ATTEMPTS = 3
#: Seconds before the second attempt, doubled for each further one.
BACKOFF_S = 2.0
#: Seconds; a host that wants longer pauses or intervals is not contacted.
LONGEST_WAIT_S = 60.0
#: Maximum number of redirects in a chain.
MAX_HOPS = 20
#: Number of failures, without a good answer between them, that confirm a failure.
STRIKES = 3
#: Days that these failures must span.
STRIKE_DAYS = 7.0
