# Makes reference.json: ten tables with predictions, and the scores and curves that R gives them.
# Run in this folder: Rscript reference.R
# survival: Kaplan-Meier, Uno's concordance. cmprsk: Aalen-Johansen. prodlim and pec: censoring
# survival, its weights, Brier score, cause-specific concordance. riskRegression: Brier score and
# AUC(t) with standard errors. (timeROC is in no Debian package; its AUC is riskRegression's.)
suppressPackageStartupMessages({
  library(survival)
  library(riskRegression)
  library(prodlim)
  library(pec)
  library(cmprsk)
  library(jsonlite)
})

# event: 0 is censored, k the k-th of labels. x in [0, 1] with few digits, so that it has ties.
make <- function(duration, event, x, labels, horizons) {
  list(
    duration = duration, event = as.integer(event), x = pmin(pmax(round(x, 2), 0.01), 0.99),
    labels = labels, times = horizons, factors = round(seq(0.2, 0.9, length.out = length(horizons)), 3)
  )
}

simulate <- function(n, n_causes, unit, last, seed) {
  set.seed(seed)
  z <- rnorm(n)
  latent <- sapply(seq_len(n_causes), function(k) rexp(n, exp(z * c(0.8, -0.4, 0.2, 0)[k]) / (40 * k)))
  first <- apply(as.matrix(latent), 1, min)
  cause <- apply(as.matrix(latent), 1, which.min)
  censored_at <- runif(n, 0, last)
  if (unit > 0) {
    first <- ceiling(first / unit) * unit
    censored_at <- ceiling(censored_at / unit) * unit
  }
  list(duration = round(pmin(first, censored_at), 4), event = ifelse(first <= censored_at, cause, 0), x = pnorm(0.7 * z))
}

tables <- function() {
  numbers <- function(k) seq_len(k)
  p <- pbc
  g <- mgus2
  g$duration <- ifelse(g$pstat == 1, g$ptime, g$futime)
  g$event <- ifelse(g$pstat == 1, 1, 2 * g$death)
  g <- g[g$duration > 0, ][c(TRUE, FALSE), ]
  f <- flchain[flchain$futime > 0, ][seq(1, 7800, by = 8), ]
  chapter <- as.character(f$chapter)
  f$event <- ifelse(f$death == 0, 0, ifelse(chapter %in% "Circulatory", 1, ifelse(chapter %in% "Neoplasms", 2, 3)))
  v <- veteran
  of <- function(s, labels, horizons) make(s$duration, s$event, s$x, labels, horizons)
  list(
    pbc = make(p$time, p$status, pnorm(log(p$bili) / 2 - 0.4), numbers(2), c(365, 1000, 1825, 2500, 3650)),
    mgus2 = make(g$duration, g$event, (g$age - 20) / 80, numbers(2), c(12, 36, 60, 120, 180)),
    flchain = make(f$futime, f$event, (f$age - 45) / 60, c("circulatory", "neoplasms", "other"), c(365, 1200, 2000, 3000, 4000)),
    veteran = make(v$time, v$status, 1 - v$karno / 110, numbers(1), c(30, 60, 90, 150, 250)),
    years = of(simulate(300, 1, 12, 120, 1), numbers(1), c(12, 24, 36, 60, 84)),
    years_two_causes = of(simulate(350, 2, 12, 96, 2), numbers(2), c(12, 24, 36, 48, 72)),
    heavy_censoring = of(simulate(400, 1, 1, 12, 3), numbers(1), c(2, 4, 6, 8, 10)),
    fourteen = of(simulate(14, 1, 6, 90, 4), numbers(1), c(6, 12, 18, 24, 36)),
    text_labels = of(simulate(250, 3, 3, 80, 5), c("death", "graft failure", "relapse"), c(6, 12, 24, 36, 51)),
    four_causes = of(simulate(300, 4, 0, 100, 6), numbers(4), c(5, 10, 20, 40, 60))
  )
}

predicted <- function(table) outer(table$x, table$factors)

step_at <- function(jumps, values, first, times) c(first, values)[1 + findInterval(times, jumps)]

curves <- function(table) {
  d <- data.frame(time = table$duration, event = table$event)
  km <- survfit(Surv(time, event > 0) ~ 1, data = d)
  G <- prodlim(Hist(time, event > 0) ~ 1, data = d, reverse = TRUE)
  aj <- cuminc(d$time, d$event, cencode = 0)
  aj <- lapply(seq_along(table$labels), function(k) timepoints(aj[paste("1", k)], table$times)$est[1, ])
  list(
    kaplan_meier = step_at(km$time, km$surv, 1, table$times),
    aalen_johansen = unname(do.call(rbind, aj)),
    censoring_survival = as.numeric(predict(G, times = table$times, type = "surv")),
    event_weights = event_weights(d)
  )
}

# 1 / G(t-) of the first events by time.
event_weights <- function(d) {
  d <- d[order(d$time, d$event == 0), ]
  G <- ipcw(Surv(time, event > 0) ~ 1,
    data = d, method = "marginal", times = d$time, subjectTimes = d$time, subjectTimesLag = 1,
    what = "IPCW.subjectTimes"
  )
  head((1 / G$IPCW.subjectTimes)[d$event > 0], 40)
}

of_cause <- function(table, k) {
  competing <- length(table$labels) > 1
  d <- data.frame(time = table$duration, event = table$event)
  p <- predicted(table)
  rr <- Score(list(m = p),
    formula = Hist(time, event) ~ 1, data = d, times = table$times, cause = k, cens.model = "km",
    metrics = c("brier", "auc"), null.model = FALSE, se.fit = TRUE, conservative = FALSE
  )
  brier <- rr$Brier$score[order(rr$Brier$score$times), ]
  area <- rr$AUC$score[order(rr$AUC$score$times), ]
  width <- diff(table$times) / diff(range(table$times))
  integral <- sum(width * (head(brier$Brier, -1) + tail(brier$Brier, -1)) / 2)
  found <- list(
    brier = brier$Brier, brier_error = brier$se, integrated_brier = integral, auc = area$AUC
  )
  # riskRegression's error of the AUC takes event 1 as the cause and 2 as the only other one.
  if (k == 1 && length(table$labels) <= 2) found$auc_error <- area$se
  if (competing) {
    error <- pec(list(m = p),
      formula = Hist(time, event) ~ 1, data = d, times = table$times, start = table$times[1], cause = k,
      cens.model = "marginal", exact = FALSE, reference = FALSE, verbose = FALSE
    )
  } else {
    error <- pec(list(m = 1 - p),
      formula = Surv(time, event) ~ 1, data = d, times = table$times, start = table$times[1],
      cens.model = "marginal", exact = FALSE, reference = FALSE, verbose = FALSE
    )
  }
  found$brier_pec <- error$AppErr$m
  # Concordances of x at the fourth time: pec's where no two outcomes are tied (its rules for
  # ties are others), survival's for one cause.
  horizon <- table$times[4]
  if (competing && !anyDuplicated(d$time)) {
    C <- cindex(list(m = matrix(table$x)),
      formula = Hist(time, event) ~ 1, data = d, cause = k, eval.times = horizon,
      pred.times = horizon, cens.model = "marginal", verbose = FALSE
    )
    found$concordance_pec <- C$AppCindex$m
  }
  if (!competing) {
    C <- concordance(Surv(time, event) ~ x,
      data = data.frame(d, x = table$x), timewt = "n/G2", ymax = horizon, reverse = TRUE
    )
    found$uno <- unname(C$concordance)
  }
  found
}

all <- tables()
for (name in names(all)) {
  cat(name, length(all[[name]]$x), "\n")
  all[[name]]$curves <- curves(all[[name]])
  all[[name]]$causes <- lapply(seq_along(all[[name]]$labels), function(k) of_cause(all[[name]], k))
}
packages <- c("survival", "riskRegression", "pec", "prodlim", "cmprsk")
versions <- as.list(sapply(packages, function(p) as.character(packageVersion(p))))
versions$R <- as.character(getRversion())
write_json(list(versions = versions, tables = all), "reference.json", digits = NA, auto_unbox = TRUE, na = "null")
