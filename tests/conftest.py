"""How properties are tested: with the same examples every time, or in search of new ones. And what starts at once."""

from hypothesis import HealthCheck, settings

from tests import preloaded

preloaded.start()

# What passes here passes in continuous integration, too; `make properties` is where new examples are found.
settings.register_profile(
    "same", derandomize=True, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("search", max_examples=3_000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("same")
