"""Raw tables: files, outcomes, covariates; no torch."""
