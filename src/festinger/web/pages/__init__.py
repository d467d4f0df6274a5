"""The server-rendered pages under `/admin`."""
