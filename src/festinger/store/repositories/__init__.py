"""Stores tables that belong to no single package: exchanges, request log, keys, models, costs and spaces."""
