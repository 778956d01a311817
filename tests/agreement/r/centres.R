# Makes centres.json: how much observed/expected ratios and areas under the ROC curve differ between
# centres, for the tables of reference.json, whose subjects are dealt out to centres in turn. Each
# centre's prediction is off by another factor, so that some tables have a spread and some have none.
# Run in this folder, after reference.R: Rscript centres.R
# survival: Aalen-Johansen and the influence of each subject on it. riskRegression: AUC and its error.
# metafor: random effects by REML with Hartung and Knapp's interval (never narrower than without), and Cochran's Q.
suppressPackageStartupMessages({
  library(survival)
  library(riskRegression)
  library(prodlim)
  library(metafor)
  library(jsonlite)
})

ratio <- function(time, event, n_causes, horizon, p) {
  state <- factor(event, 0:n_causes, c("censored", paste0("c", seq_len(n_causes))))
  fit <- survfit(Surv(time, state) ~ 1, id = seq_along(time), influence = TRUE)
  at <- findInterval(horizon, fit$time)
  value <- fit$pstate[at, match("c1", fit$states)]
  influence <- fit$influence.pstate[, at + 1, match("c1", fit$states)]
  of_log <- influence / value - (p - mean(p)) / (length(p) * mean(p))
  c(value / mean(p), sqrt(sum(of_log^2)) * value / mean(p))
}

area <- function(time, event, horizon, p) {
  found <- Score(list(m = cbind(p)),
    formula = Hist(time, event) ~ 1, data = data.frame(time, event), times = horizon, cause = 1,
    cens.model = "km", metrics = "auc", null.model = FALSE, se.fit = TRUE, conservative = FALSE
  )$AUC$score
  c(found$AUC, found$se)
}

summarise <- function(effect, error, back) {
  fit <- rma(effect, sei = error, method = "REML", test = "adhoc", control = list(threshold = 1e-14, maxiter = 10000, stepadj = 0.5))
  new <- predict(fit)
  list(
    mean = back(unname(fit$beta[1])), low = back(fit$ci.lb), high = back(fit$ci.ub), tau = sqrt(fit$tau2),
    new_low = back(new$pi.lb), new_high = back(new$pi.ub), statistic = fit$QE, p_value = fit$QEp
  )
}

tables <- fromJSON("reference.json", simplifyVector = TRUE, simplifyDataFrame = FALSE)$tables
off <- list(
  pbc = 0.1, mgus2 = 0.4, flchain = 0.2, veteran = 0, years = 0.3, years_two_causes = 0, heavy_censoring = 0.5,
  fourteen = 0.2, text_labels = 0.1, four_causes = 0.6
)
found <- lapply(names(tables), function(name) {
  table <- tables[[name]]
  n <- length(table$x)
  n_centres <- if (n < 20) 2 else 6
  centre <- rep_len(seq_len(n_centres), n)
  horizon <- table$times[3]
  p <- table$x * table$factors[3] * exp(off[[name]] * (centre %% 3 - 1))
  rows <- lapply(seq_len(n_centres), function(k) which(centre == k))
  each <- sapply(rows, function(i) ratio(table$duration[i], table$event[i], length(table$labels), horizon, p[i]))
  of <- list(
    off = off[[name]], n_centres = n_centres, horizon = horizon, ratio = each[1, ], ratio_error = each[2, ],
    spread = summarise(log(each[1, ]), each[2, ] / each[1, ], exp)
  )
  if (n >= 20) {
    each <- sapply(rows, function(i) area(table$duration[i], table$event[i], horizon, p[i]))
    error <- each[2, ] / (each[1, ] * (1 - each[1, ]))
    of <- c(of, list(auc = each[1, ], auc_error = each[2, ], auc_spread = summarise(qlogis(each[1, ]), error, plogis)))
  }
  of
})
names(found) <- names(tables)
packages <- c("survival", "riskRegression", "metafor")
versions <- as.list(sapply(packages, function(p) as.character(packageVersion(p))))
versions$R <- as.character(getRversion())
write_json(list(versions = versions, tables = found), "centres.json", digits = NA, auto_unbox = TRUE, na = "null")
