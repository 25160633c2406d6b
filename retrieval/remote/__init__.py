"""Search over the network, by the ColBERTv2 protocol: a client and a server."""
