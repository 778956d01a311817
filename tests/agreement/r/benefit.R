# Makes benefit.json: observed/expected ratio, scaled Brier score and net benefit of the tables and
# predictions of reference.json. Run in this folder, after reference.R: Rscript benefit.R
# riskRegression: scaled Brier score (IPA). survival: Aalen-Johansen and the influence of each
# subject on it, from which ratio, net benefit and their errors follow by their formulas
# (van Geloven et al., BMJ 2022).
suppressPackageStartupMessages({
  library(survival)
  library(riskRegression)
  library(prodlim)
  library(jsonlite)
})

thresholds <- c(0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)

# Incidence of cause k by a horizon; NA if follow-up ends earlier with some event-free.
observed <- function(time, event, k, n_causes, horizon) {
  state <- factor(event, 0:n_causes, c("censored", paste0("c", seq_len(n_causes))))
  fit <- survfit(Surv(time, state) ~ 1, id = seq_along(time), influence = TRUE)
  at <- findInterval(horizon, fit$time)
  if (at == 0) {
    return(list(value = 0, influence = rep(0, length(time)), error = 0))
  }
  if (horizon > max(time) && tail(fit$pstate[, 1], 1) > 1e-12) {
    return(list(value = NA, influence = rep(NA, length(time)), error = NA))
  }
  column <- match(paste0("c", k), fit$states)
  influence <- fit$influence.pstate[, at + 1, column] # the first is that at time 0
  list(value = fit$pstate[at, column], influence = influence, error = fit$std.err[at, column])
}

size <- function(influence) sqrt(sum(influence^2))

ratio <- function(time, event, k, n_causes, horizon, p) {
  o <- observed(time, event, k, n_causes, horizon)
  of_log <- o$influence / o$value - (p - mean(p)) / (length(p) * mean(p))
  list(value = o$value / mean(p), error_of_log = size(of_log), observed_error = o$error)
}

benefit <- function(time, event, k, n_causes, horizon, p, threshold) {
  n <- length(p)
  treated <- p > threshold
  if (!any(treated)) {
    return(list(value = 0, influence = rep(0, n)))
  }
  odds <- threshold / (1 - threshold)
  share <- mean(treated)
  f <- observed(time[treated], event[treated], k, n_causes, horizon)
  influence <- (treated - share) / n * (f$value - (1 - f$value) * odds)
  influence[treated] <- influence[treated] + share * (1 + odds) * f$influence
  list(value = f$value * share - (1 - f$value) * share * odds, influence = influence)
}

of_cause <- function(table, k) {
  time <- table$duration
  event <- table$event
  n_causes <- length(table$labels)
  p <- outer(table$x, table$factors)
  ipa <- Score(list(m = p),
    formula = Hist(time, event) ~ 1, data = data.frame(time, event), times = table$times, cause = k,
    cens.model = "km", metrics = "brier", summary = "ipa", null.model = TRUE, se.fit = FALSE
  )$Brier$score
  ipa <- ipa[ipa$model == "m", ]
  found <- list(scaled_brier = ipa$IPA[order(ipa$times)])
  ratios <- lapply(seq_along(table$times), function(j) ratio(time, event, k, n_causes, table$times[j], p[, j]))
  found$ratio <- sapply(ratios, `[[`, "value")
  found$ratio_error_of_log <- sapply(ratios, `[[`, "error_of_log")
  found$observed_error <- sapply(ratios, `[[`, "observed_error")
  curves <- lapply(seq_along(table$times), function(j) {
    of <- function(p) lapply(thresholds, function(level) benefit(time, event, k, n_causes, table$times[j], p, level))
    one <- of(p[, j])
    other <- of(sqrt(table$x) * table$factors[j])
    all <- of(rep(1, length(time)))
    values <- function(list) sapply(list, `[[`, "value")
    gap <- Map(function(a, b) size(a$influence - b$influence), one, other)
    list(
      benefit = values(one), benefit_error = sapply(one, function(each) size(each$influence)),
      treat_all = values(all), treat_all_error = sapply(all, function(each) size(each$influence)),
      difference = values(one) - values(other), difference_error = unlist(gap)
    )
  })
  for (name in names(curves[[1]])) found[[name]] <- do.call(rbind, lapply(curves, `[[`, name))
  found
}

tables <- fromJSON("reference.json", simplifyVector = TRUE, simplifyDataFrame = FALSE)$tables
found <- lapply(names(tables), function(name) {
  cat(name, "\n")
  lapply(seq_along(tables[[name]]$labels), function(k) of_cause(tables[[name]], k))
})
names(found) <- names(tables)
packages <- c("survival", "riskRegression", "prodlim")
versions <- as.list(sapply(packages, function(p) as.character(packageVersion(p))))
versions$R <- as.character(getRversion())
write_json(list(versions = versions, thresholds = thresholds, tables = found), "benefit.json", digits = NA, auto_unbox = TRUE, na = "null")
