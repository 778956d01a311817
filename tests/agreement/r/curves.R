# Makes curves.json: standard errors and intervals that R gives Kaplan-Meier, Nelson-Aalen and
# Aalen-Johansen on the tables of reference.json and entry.json, at up to 20 times of each. Run in
# this folder: Rscript curves.R
# survival: Greenwood's, Aalen's and the infinitesimal jackknife's variance, and the intervals.
# cmprsk: Gray's variance (Aalen's, with another formula for ties). prodlim: Greenwood's of causes.
suppressPackageStartupMessages({
  library(survival)
  library(prodlim)
  library(cmprsk)
  library(jsonlite)
})

ends <- function(value, error, type, level = 0.95, ...) {
  found <- survival:::survfit_confint(value, error, logse = FALSE, type, level, ...)
  list(low = found$lower, high = found$upper)
}

# id: of a subject. spell: of its rows that touch, since survfit refuses gaps.
curves <- function(d, n_causes) {
  d$any <- d$event > 0
  labels <- c("censored", paste0("c", seq_len(n_causes)))
  d$state <- factor(labels[d$event + 1], labels)
  fit <- function(type, level = 0.95) {
    survfit(Surv(start, stop, any) ~ 1, data = d, conf.type = type, conf.int = level, robust = FALSE)
  }
  one <- fit("log-log")
  times <- one$time[unique(round(seq(1, length(one$time), length.out = 20)))]
  pick <- findInterval(times, one$time)
  of <- function(fit) list(low = fit$lower[pick], high = fit$upper[pick])
  found <- list(
    times = times, n_at_risk = one$n.risk[pick],
    kaplan_meier = list(
      error = one$surv[pick] * one$std.err[pick], log_log = of(one), plain = of(fit("plain")),
      log = of(fit("log")), log_log_80 = of(fit("log-log", 0.8))
    )
  )
  found$nelson_aalen <- lapply(seq_len(n_causes), function(k) {
    each <- survfit(Surv(start, stop, event == k) ~ 1, data = d, robust = FALSE)
    at <- findInterval(times, each$time)
    hazard <- each$cumhaz[at]
    error <- each$std.chaz[at]
    list(error = error, log = ends(hazard, error, "log", ulimit = FALSE), plain = ends(hazard, error, "plain", ulimit = FALSE))
  })
  several <- survfit(Surv(start, stop, state) ~ 1, data = d, id = d$spell, influence = TRUE)
  errors <- several$std.err
  if (length(unique(d$spell)) > length(unique(d$id))) { # of who came back: the influences summed
    subject <- d$id[!duplicated(d$spell)]
    by_subject <- function(state) sqrt(colSums(rowsum(several$influence.pstate[, , state], subject)^2))
    errors <- sapply(seq_along(several$states), by_subject)
    errors <- errors[nrow(errors) - rev(seq_along(several$time)) + 1, , drop = FALSE]
  }
  at <- 1 + findInterval(times, several$time)
  right <- all(d$start == 0) && !anyDuplicated(d$id)
  delta <- if (right) prodlim(Hist(stop, event) ~ 1, data = d)
  gray <- if (right) cuminc(d$stop, d$event)
  found$aalen_johansen <- lapply(seq_len(n_causes), function(k) {
    column <- match(labels[k + 1], several$states)
    value <- c(0, several$pstate[, column])[at]
    error <- c(0, errors[, column])[at]
    complement <- ends(1 - value, error, "log-log")
    cause <- list(
      value = value, error = error, cloglog = list(low = 1 - complement$high, high = 1 - complement$low),
      plain = ends(value, error, "plain"), log_log = ends(value, error, "log-log")
    )
    if (right) {
      by_prodlim <- if (n_causes > 1) delta$se.cuminc[[k]] else delta$se.surv
      cause$prodlim <- c(0, by_prodlim)[1 + findInterval(times, delta$time)]
      cause$cuminc <- sqrt(timepoints(gray[paste(1, k)], times)$var[1, ])
    }
    cause
  })
  found
}

plain <- fromJSON("reference.json", simplifyVector = TRUE)$tables
entry <- fromJSON("entry.json", simplifyVector = TRUE)$tables
found <- list()
for (name in names(plain)) {
  t <- plain[[name]]
  id <- seq_along(t$duration)
  d <- data.frame(id = id, spell = id, start = 0, stop = t$duration, event = t$event)
  found[[name]] <- curves(d, length(t$labels))
}
for (name in names(entry)) {
  d <- data.frame(entry[[name]][c("id", "start", "stop", "event")])
  d$spell <- cumsum(c(TRUE, tail(d$id, -1) != head(d$id, -1) | tail(d$start, -1) != head(d$stop, -1)))
  found[[paste0("entry_", name)]] <- curves(d, length(entry[[name]]$causes))
}
versions <- sapply(c("survival", "cmprsk", "prodlim"), function(p) as.character(packageVersion(p)))
versions <- c(as.list(versions), R = as.character(getRversion()))
write_json(list(versions = versions, tables = found), "curves.json", digits = NA, auto_unbox = TRUE, na = "null")
