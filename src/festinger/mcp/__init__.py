"""The interface for MCP clients.

Will offer the memory as tools, resources and prompts over stdio and HTTP. Not built yet.
"""
