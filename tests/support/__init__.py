"""What several test modules use: data, stores, hosts, processes, and how often to try."""
