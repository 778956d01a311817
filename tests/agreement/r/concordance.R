# Makes concordance.json: pec's concordance for competing causes (Wolbers and Gerds) of the tables of
# reference.json. pec has other rules for ties, so they are untied: where durations are equal, events
# come before censorings and, of these, earlier rows before later ones.
# Run in this folder, after reference.R: Rscript concordance.R
suppressPackageStartupMessages({
  library(survival)
  library(prodlim)
  library(pec)
  library(jsonlite)
})

tables <- fromJSON("reference.json", simplifyVector = TRUE, simplifyDataFrame = FALSE)$tables
found <- lapply(names(tables), function(name) {
  table <- tables[[name]]
  n <- length(table$x)
  d <- data.frame(time = numeric(n), event = table$event)
  d$time[order(table$duration, table$event == 0, seq_len(n))] <- seq_len(n)
  ends <- sapply(table$times[3:5], function(t) sum(table$duration <= t)) + 0.5
  lapply(seq_along(table$labels), function(k) {
    prediction <- if (length(table$labels) > 1) table$x else 1 - table$x
    formula <- if (length(table$labels) > 1) Hist(time, event) ~ 1 else Surv(time, event) ~ 1
    sapply(ends, function(end) {
      cindex(list(m = matrix(prediction)),
        formula = formula, data = d, cause = k, eval.times = end, pred.times = end,
        cens.model = "marginal", verbose = FALSE
      )$AppCindex$m
    })
  })
})
names(found) <- names(tables)
versions <- list(pec = as.character(packageVersion("pec")), R = as.character(getRversion()))
write_json(list(versions = versions, tables = found), "concordance.json", digits = NA, auto_unbox = TRUE, na = "null")
