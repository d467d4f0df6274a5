"""The interface for MCP clients: tools, resources and a prompt over stdio and streamable HTTP."""
