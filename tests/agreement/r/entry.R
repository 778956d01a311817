# Makes entry.json: tables with late entry and start-stop rows, and the curves, numbers at risk and
# concordances that R's survival gives them. Run in this folder: Rscript entry.R
suppressPackageStartupMessages({
  library(survival)
  library(jsonlite)
})

# event: 0 is censored, k the k-th of causes. x has few digits, so that it has ties.
make <- function(id, start, stop, event, x, n_causes) {
  list(
    id = as.integer(id), start = start, stop = stop, event = as.integer(event), x = round(x, 1),
    causes = seq_len(n_causes)
  )
}

# unit > 0: entries, events and censorings in whole units, so that all are tied with each other.
simulate <- function(n, n_causes, unit, late, seed) {
  set.seed(seed)
  z <- rnorm(3 * n)
  latent <- sapply(seq_len(n_causes), function(k) rexp(3 * n, exp(z * c(0.8, -0.4, 0.2)[k]) / (20 * k)))
  first <- apply(as.matrix(latent), 1, min)
  cause <- apply(as.matrix(latent), 1, which.min)
  start <- ifelse(runif(3 * n) < late, runif(3 * n, 0, 15), 0)
  leaves <- start + runif(3 * n, 1, 40)
  if (unit > 0) {
    first <- ceiling(first / unit) * unit
    leaves <- ceiling(leaves / unit) * unit
    start <- floor(start / unit) * unit
  }
  stop <- pmin(first, leaves)
  event <- ifelse(first <= leaves, cause, 0)
  seen <- which(stop > start)[seq_len(n)]
  make(seq_len(n), round(start[seen], 3), round(stop[seen], 3), event[seen], z[seen], n_causes)
}

# Cut each row at a random whole time within it; every fifth subject is away for a while.
cut_rows <- function(table, seed) {
  set.seed(seed)
  rows <- do.call(rbind, lapply(seq_along(table$id), function(i) {
    inside <- seq(floor(table$start[i]) + 1, length.out = max(0, ceiling(table$stop[i]) - floor(table$start[i]) - 1))
    if (length(inside) < 3) {
      return(data.frame(id = i, start = table$start[i], stop = table$stop[i], event = table$event[i], x = table$x[i]))
    }
    at <- sort(sample(inside, 2))
    away <- if (i %% 5 == 0) at[2] else at[1]
    x <- table$x[i] + c(0, rnorm(if (i %% 5 == 0) 1 else 2))
    start <- if (i %% 5 == 0) c(table$start[i], at[2]) else c(table$start[i], at)
    stop <- if (i %% 5 == 0) c(at[1], table$stop[i]) else c(at, table$stop[i])
    data.frame(id = i, start = start, stop = stop, event = c(rep(0, length(start) - 1), table$event[i]), x = x)
  }))
  make(rows$id, rows$start, rows$stop, rows$event, rows$x, length(table$causes))
}

tables <- function() {
  h <- heart
  h$stop[h$start == h$stop] <- h$stop[h$start == h$stop] + 0.5
  g <- mgus2[!is.na(mgus2$hgb), ][seq(1, 1360, by = 4), ]
  days <- pmax(ifelse(g$pstat == 1, g$ptime, g$futime), 0.5)
  g$event <- ifelse(g$pstat == 1, 1, 2 * g$death)
  p <- pbcseq[pbcseq$id <= 100, ]
  p$stop <- ave(p$day, p$id, FUN = function(day) c(day[-1], NA))
  last <- is.na(p$stop)
  p$stop[last] <- p$futime[last]
  p$event <- ifelse(last, p$status, 0)
  p <- p[p$stop > p$day, ]
  list(
    late = simulate(200, 1, 0, 0.6, 1),
    late_two_causes = simulate(250, 2, 0, 0.6, 2),
    tied = simulate(200, 1, 2, 0.7, 3),
    tied_three_causes = simulate(300, 3, 2, 0.7, 4),
    everybody_late = simulate(300, 2, 1, 1, 5),
    cut = cut_rows(simulate(150, 1, 1, 0.5, 6), 6),
    cut_two_causes = cut_rows(simulate(200, 2, 1, 0.5, 7), 7),
    heart = make(h$id, h$start, h$stop, h$event, h$age / 10, 1),
    mgus2_by_age = make(g$id, g$age * 12, g$age * 12 + days, g$event, g$hgb, 2),
    pbcseq = make(p$id, p$day, p$stop, p$event, log(p$bili), 2)
  )
}

curves <- function(table) {
  d <- data.frame(table[c("id", "start", "stop", "event", "x")])
  # survfit refuses gaps: who comes back counts as another subject, with the same risk sets.
  back <- c(TRUE, tail(d$id, -1) != head(d$id, -1) | tail(d$start, -1) != head(d$stop, -1))
  d$spell <- cumsum(back)
  one <- survfit(Surv(start, stop, event > 0) ~ 1, data = d, id = d$spell)
  found <- list(
    times = one$time, at_risk = one$n.risk, n_events = one$n.event, n_censored = one$n.censor,
    kaplan_meier = one$surv, nelson_aalen_of_all = one$cumhaz
  )
  labels <- c("censored", paste0("c", table$causes))
  d$state <- factor(labels[d$event + 1], labels)
  several <- survfit(Surv(start, stop, state) ~ 1, data = d, id = d$spell)
  at <- 1 + findInterval(one$time, several$time)
  step <- function(values) t(rbind(0, values)[at, , drop = FALSE])
  found$aalen_johansen <- step(several$pstate[, match(labels[-1], several$states), drop = FALSE])
  found$nelson_aalen <- step(as.matrix(several$cumhaz)[, seq_along(table$causes), drop = FALSE])
  found$concordance <- sapply(table$causes, function(k) {
    unname(concordance(Surv(start, stop, event == k) ~ x, data = d, cluster = d$id, reverse = TRUE)$concordance)
  })
  found$concordance_error <- sapply(table$causes, function(k) {
    sqrt(concordance(Surv(start, stop, event == k) ~ x, data = d, cluster = d$id, reverse = TRUE)$var)
  })
  found
}

all <- tables()
for (name in names(all)) {
  cat(name, length(all[[name]]$x), "\n")
  all[[name]]$found <- curves(all[[name]])
}
versions <- list(survival = as.character(packageVersion("survival")), R = as.character(getRversion()))
write_json(list(versions = versions, tables = all), "entry.json", digits = NA, auto_unbox = FALSE, na = "null")
