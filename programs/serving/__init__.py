"""The answers server: methods over HTTP, for chat clients, for agents and for a page. Needs the extra `serve`."""
