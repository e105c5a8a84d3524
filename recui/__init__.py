"""The application: command line, explorer and exporter."""

__version__ = "0.1.0"
