"""The HTTP server: routes, limits and how it is started; needs the extra ``app``."""
