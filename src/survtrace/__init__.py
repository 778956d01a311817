"""SurvTRACE: transformers for survival analysis with competing events."""
