"""Indexes that recall searches: conversation turns and term counts."""
