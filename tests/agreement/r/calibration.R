# Makes calibration.json: tables with predictions, and what R says of their calibration at a horizon
# (van Geloven et al., BMJ 2022). Run in this folder: Rscript calibration.R
# prodlim: jackknife pseudo-values, checked here against leaving out each subject in turn.
# geepack: regression with cloglog link and robust variance. rms: restricted cubic splines.
suppressPackageStartupMessages({
  library(survival)
  library(prodlim)
  library(geepack)
  library(rms)
  library(jsonlite)
})

# unit > 0: durations in whole units, so that events and censorings are tied.
simulate <- function(n, n_causes, unit, last, seed) {
  set.seed(seed)
  z <- rnorm(n)
  latent <- sapply(seq_len(n_causes), function(k) rexp(n, exp(z * c(0.8, -0.4, 0.2)[k]) / (40 * k)))
  first <- apply(as.matrix(latent), 1, min)
  cause <- apply(as.matrix(latent), 1, which.min)
  censored_at <- runif(n, 0, last)
  if (unit > 0) {
    first <- ceiling(first / unit) * unit
    censored_at <- ceiling(censored_at / unit) * unit
  }
  list(duration = round(pmin(first, censored_at), 4), event = ifelse(first <= censored_at, cause, 0), z = z)
}

make <- function(duration, event, z, horizons) {
  known <- !is.na(z) & duration > 0
  list(
    duration = duration[known], event = as.integer(event[known]),
    z = as.numeric(scale(z[known])), horizons = horizons
  )
}

tables <- function() {
  g <- mgus2
  g$duration <- ifelse(g$pstat == 1, g$ptime, g$futime)
  g$event <- ifelse(g$pstat == 1, 1, 2 * g$death)
  g <- g[c(TRUE, FALSE), ]
  f <- flchain[seq(1, nrow(flchain), by = 16), ]
  chapter <- as.character(f$chapter)
  f$event <- ifelse(f$death == 0, 0, ifelse(chapter %in% "Circulatory", 1, ifelse(chapter %in% "Neoplasms", 2, 3)))
  of <- function(s, horizons) make(s$duration, s$event, s$z, horizons)
  list(
    pbc = make(pbc$time, pbc$status, log(pbc$bili), c(1000, 2500)),
    mgus2 = make(g$duration, g$event, g$age, c(60, 180)),
    flchain = make(f$futime, f$event, f$age, c(2400, 4000)),
    veteran = make(veteran$time, veteran$status, -veteran$karno, c(90, 250)),
    years = of(simulate(300, 1, 12, 120, 1), c(24, 60)),
    years_two_causes = of(simulate(350, 2, 12, 96, 2), c(24, 48)),
    three_causes = of(simulate(250, 3, 3, 80, 5), c(12, 36)),
    heavy_censoring = of(simulate(400, 1, 1, 12, 3), c(4, 8)),
    no_censoring = of(simulate(200, 2, 0, 1e9, 6), c(10, 40)),
    fourteen = of(simulate(14, 1, 6, 90, 14), c(18, 30))
  )
}

cif <- function(d, horizon, cause) {
  labels <- c("censored", paste0("c", seq_len(max(d$event, cause))))
  d$state <- factor(labels[d$event + 1], labels)
  fit <- survfit(Surv(time, state) ~ 1, data = d, se.fit = FALSE)
  column <- match(labels[cause + 1], fit$states)
  c(0, fit$pstate[, column])[1 + findInterval(horizon, fit$time)]
}

left_out <- function(d, horizon, cause) {
  n <- nrow(d)
  n * cif(d, horizon, cause) - (n - 1) * sapply(seq_len(n), function(i) cif(d[-i, ], horizon, cause))
}

by_prodlim <- function(d, horizon, cause) {
  if (max(d$event) == 1) {
    return(1 - as.numeric(jackknife(prodlim(Hist(time, event) ~ 1, data = d), times = horizon)))
  }
  as.numeric(jackknife(prodlim(Hist(time, event) ~ 1, data = d), times = horizon, cause = cause))
}

gee <- function(formula, d, start) {
  geese(formula,
    data = d, id = seq_len(nrow(d)), mean.link = "cloglog", variance = "gaussian", scale.fix = TRUE,
    corstr = "independence", b = start, control = geese.control(epsilon = 1e-11, maxit = 2000)
  )
}

case <- function(table, horizon, cause) {
  d <- data.frame(time = table$duration, event = table$event)
  level <- cif(d, horizon, cause)
  # slopes other than 1, and a level that is off by a tenth
  predicted <- round(1 - exp(log(1 - level) * 1.1 * exp(0.6 * table$z - 0.18)), 4)
  d$predicted <- pmin(pmax(predicted, 0.001), 0.999)
  d$x <- log(-log(1 - d$predicted))
  d$pseudo <- left_out(d, horizon, cause)
  gap <- max(abs(d$pseudo - by_prodlim(d, horizon, cause)))
  cat(" ", horizon, cause, "events", sum(d$event == cause & d$time <= horizon), "prodlim differs by", gap, "\n")
  one <- gee(pseudo ~ offset(x), d, 0)
  two <- gee(pseudo ~ x, d, c(0, 1))
  off <- two$beta - c(0, 1)
  wald <- drop(off %*% solve(two$vbeta) %*% off)
  n_events <- sum(d$event == cause & d$time <= horizon)
  n_knots <- if (n_events < 30) 3 else if (n_events < 100) 4 else 5
  where <- list(c(0.1, 0.5, 0.9), c(0.05, 0.35, 0.65, 0.95), c(0.05, 0.275, 0.5, 0.725, 0.95))[[n_knots - 2]]
  knots <- unname(quantile(d$x, where))
  basis <- function(x) unclass(rcs(x, parms = knots))[, seq_len(n_knots - 1), drop = FALSE]
  B <- matrix(as.numeric(basis(d$x)), nrow(d))
  smooth <- gee(pseudo ~ B, d, c(0, 1, rep(0, n_knots - 2)))
  at <- unname(quantile(d$predicted, c(0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)))
  eta <- function(x) cbind(1, matrix(as.numeric(basis(x)), length(x)))
  X <- eta(log(-log(1 - at)))
  middle <- drop(X %*% smooth$beta)
  error <- suppressWarnings(sqrt(rowSums((X %*% smooth$vbeta) * X)))
  p <- function(eta) 1 - exp(-exp(eta))
  z <- qnorm(0.975)
  gaps <- abs(d$predicted - p(drop(eta(d$x) %*% smooth$beta)))
  line <- list(
    horizon = horizon, cause = cause, predicted = d$predicted, pseudo = d$pseudo,
    intercept = unname(one$beta), intercept_error = sqrt(one$vbeta[1, 1]),
    slope = unname(two$beta[2]), slope_error = sqrt(two$vbeta[2, 2]),
    statistic = wald, p_value = pchisq(wald, 2, lower.tail = FALSE)
  )
  # geese takes whole steps, which can run away; then nothing is stored of the curve
  squares <- function(fitted) sum((d$pseudo - fitted)^2)
  if (anyNA(error) || squares(p(drop(eta(d$x) %*% smooth$beta))) > squares(p(two$beta[1] + two$beta[2] * d$x))) {
    cat("    geese has no curve\n")
    return(line)
  }
  c(line, list(
    at = at, observed = p(middle), low = p(middle - z * error), high = p(middle + z * error),
    ici = mean(gaps), e50 = unname(quantile(gaps, 0.5)), e90 = unname(quantile(gaps, 0.9)), emax = max(gaps)
  ))
}

all <- tables()
found <- list()
for (name in names(all)) {
  cat(name, length(all[[name]]$z), "\n")
  table <- all[[name]]
  cases <- list()
  for (cause in seq_len(max(table$event))) for (horizon in table$horizons) {
    cases[[length(cases) + 1]] <- case(table, horizon, cause)
  }
  found[[name]] <- list(duration = table$duration, event = table$event, cases = cases)
}
packages <- c("survival", "prodlim", "geepack", "rms")
versions <- c(sapply(packages, function(name) as.character(packageVersion(name))), R = as.character(getRversion()))
write_json(list(versions = as.list(versions), tables = found), "calibration.json", digits = 15, auto_unbox = TRUE, na = "null")
