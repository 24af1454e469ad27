"""Share of late requests when one machine asks more than a thousand hosts once a second each.

Hosts on loopback are asked about a few ARKs each, a second apart. A request is late if it comes much later than the
interval after the previous one, or, for the first of a host, after the first of the audit. Then the machine limits the
audit instead of politeness. Times come from the hosts' log with timestamps of the kernel.

    python -m tools.benchmarks.late_turns [HOSTS [ARKS [INTERVAL]]]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise

from tools.benchmarks.makespan import run_check

HOSTS, ARKS, INTERVAL = "1250", "2", "1.0"
#: Delay, as a share of the interval, beyond which a request is late.
LATE = 0.1
#: Bound on the duration, relative to the minimum that the intervals allow.
MOST, AIM = 8.0, 1.1


def main(arguments: Sequence[str] = ()) -> int:
    """Print the share of late requests and the duration; return 1 if the duration exceeds `MOST` times its minimum."""
    hosts, arks, interval = [*arguments, *(HOSTS, ARKS, INTERVAL)[len(arguments) :]]
    interval_s = float(interval)
    seen = run_check([f"h{number:04}.example" for number in range(int(hosts))], int(arks), interval_s)
    every = sorted(moment for moments in seen.starts.values() for moment in moments)
    turns = [pairwise([every[0], *sorted(moments)]) for moments in seen.starts.values()]
    gaps = [later - earlier for of_host in turns for earlier, later in of_host]
    late = sum(gap > interval_s * (1 + LATE) for gap in gaps)
    asking_s = every[-1] - every[0]
    bound_s = max(len(moments) - 1 for moments in seen.starts.values()) * interval_s
    print(
        f"late turns: {late / len(gaps):.0%} of {len(gaps):,} (aim 0) for {hosts} hosts with {arks} ARKs each at "
        f"{interval} s; the latest came {max(gaps):.1f} s after the one before, or after the audit's first\n"
        f"  {asking_s:.1f} s to ask ({asking_s / bound_s:.1f} of the bound, floor {MOST:g}, aim {AIM:g}), "
        f"{len(every) / asking_s:.0f} requests a second where {int(hosts) / interval_s:.0f} may go out; "
        f"{seen.cpu_s / len(every) * 1000:.1f} ms of CPU a request, start and judging included"
    )
    return int(asking_s / bound_s > MOST)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
