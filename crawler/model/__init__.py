"""Values of the crawler: addresses, requests, observations, outcomes, and the tables that keep them."""
