"""How properties are tested: with the same examples every time, or in search of new ones; and how commands are run."""

import signal

from hypothesis import HealthCheck, settings

from tests import preloaded

# What a shell starts in the background is deaf to Ctrl-C, and so would be all that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
preloaded.start()

# What passes here passes in continuous integration, too; `make properties` is where new examples are found.
settings.register_profile(
    "same", derandomize=True, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("search", max_examples=3_000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("same")
