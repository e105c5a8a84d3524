"""Words of the application alone, in both languages: one folder a language, one TOML file a subject."""
