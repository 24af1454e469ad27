"""An ARK goes in, observations come out. The only package that touches the network."""
