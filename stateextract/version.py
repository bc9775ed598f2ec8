"""The version of this tool, as manifests record it."""

VERSION = "0.1.0"
