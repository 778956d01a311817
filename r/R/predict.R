# Predictions: the question is checked here, asked of Python, and its answer named.

#' Predict incidences, survival and more
#'
#' @param object A fit of [survtrace()].
#' @param newdata A data frame with the columns that the formula names; others are ignored. `NA` is
#'   a value that is not known, a level that the fit has not seen an unseen one (with a warning).
#' @param times Times from the same origin as those of the fit; by default those of
#'   `object$time_grid`. A matrix has a row of times for each row of `newdata`.
#' @param type
#'   * `"incidence"`: the probability that each cause has struck by each time.
#'   * `"survival"`: the probability of no event until each time.
#'   * `"hazard"`: the cumulative hazard of each cause.
#'   * `"risk"`: one score for each row, the incidence of any cause at the median event time.
#'   * `"quantile"`: the time by which an event has happened with probability `q`; `Inf` if that
#'     is beyond the last event of the fit.
#'   * `"rmst"`: the mean event-free time up to each time, by default to the last of the grid.
#'   * `"typicality"`: the share of the patients learned from who are at least as unusual as this
#'     one. Below 0.01 a prediction is a guess.
#' @param cause For incidences and hazards, one cause: its name, or its number among the levels of
#'   status.
#' @param conditional_after A time, or one for each row, at which the subject is known to be
#'   event-free: the answer is then about the time after it. With age as the clock, the age now.
#' @param interval Whether to give intervals of incidences or survival, too.
#' @param level Share of subjects whose true incidence is to lie in their interval.
#' @param q Probabilities of the quantiles.
#' @param extrapolate What times beyond the last event of the fit get: `"constant"` (with a
#'   warning), `"nan"` or `"raise"`.
#' @param ... Not used; anything given here is an error.
#' @return For `"incidence"` and `"hazard"` an array of rows, causes and times, or a matrix of rows
#'   and times where `cause` is given or the fit has one cause; for `"survival"`, `"rmst"` and
#'   `"quantile"` a matrix; else a vector. Dimensions are named. With `interval = TRUE` a list of
#'   `fit`, `lower` and `upper`.
#' @examplesIf survtrace_available()
#' lung <- survival::lung
#' fit <- survtrace(Surv(time, status) ~ age + sex + ph.ecog, lung, n_members = 1, max_epochs = 2)
#' predict(fit, lung[1:3, ], times = c(180, 365), type = "survival")
#' predict(fit, lung[1:3, ], times = 365, interval = TRUE)
#' predict(fit, lung[1:3, ], type = "quantile", q = 0.5, conditional_after = 100)
#' @export
predict.survtrace <- function(object, newdata, times = NULL,
                              type = c(
                                "incidence", "survival", "hazard", "risk", "quantile", "rmst",
                                "typicality"
                              ),
                              cause = NULL, conditional_after = NULL, interval = FALSE,
                              level = 0.95, q = 0.5, extrapolate = "constant", ...) {
  call <- match.call()
  type <- match.arg(type)
  refuse_others(..., call = call)
  if (missing(newdata)) {
    abort("data", "newdata is missing; a fit does not keep the rows it has learned from.",
      call = call
    )
  }
  require_numbers(times, "times", call)
  require_numbers(conditional_after, "conditional_after", call)
  require_interval(interval, type, call)
  frame <- open_newdata(object, newdata, call)
  warn_of_late_start(object, type, conditional_after, call)
  if (is.null(times)) times <- if (type == "rmst") max(object$time_grid) else object$time_grid
  place <- if (type %in% c("incidence", "hazard")) cause_place(object, cause, call)
  labels <- answer_labels(object, type, row.names(newdata), times, place, q)
  question <- list(
    times = numbers(if (is.matrix(times)) t(times) else times),
    times_by_row = if (is.matrix(times)) ncol(times),
    cause = place, interval = interval, level = level, q = numbers(q), extrapolate = extrapolate,
    conditional_after = if (!is.null(conditional_after)) numbers(conditional_after)
  )
  if (nrow(newdata) == 0) {
    arrays <- rep(list(named(numeric(), labels)), if (interval) 3 else 1)
  } else {
    arrays <- ask_arrays(object, frame, type, question, labels, call)
  }
  if (interval) stats::setNames(arrays, c("fit", "lower", "upper")) else arrays[[1]]
}

# Ask Python: one array, or three with intervals.
ask_arrays <- function(object, frame, type, question, labels, call) {
  columns <- python_columns(frame, call)
  found <- ask("predict", loaded_model(object, call), columns, type, question, call = call)
  lapply(found$arrays, function(content) {
    named(readBin(content, "double", length(content) / 8, endian = "little"), labels)
  })
}

# The names along each dimension of an answer.
answer_labels <- function(object, type, rows, times, place, q) {
  along_time <- if (is.matrix(times)) as.character(seq_len(ncol(times))) else format_times(times)
  switch(type,
    risk = ,
    typicality = list(rows),
    quantile = list(rows, q = as.character(q)),
    survival = ,
    rmst = list(rows, time = along_time),
    if (is.null(place)) {
      list(rows, cause = object$causes, time = along_time)
    } else {
      list(rows, time = along_time)
    }
  )
}

format_times <- function(times) formatC(times, digits = 15, width = 1, format = "g")

# Values as an array with names; as a vector where it has one dimension.
named <- function(values, labels) {
  if (length(labels) == 1) return(stats::setNames(values, labels[[1]]))
  array(values, unname(lengths(labels)), labels)
}

# The place of a cause, from 0; by its name, or by its number among the levels of status.
cause_place <- function(object, cause, call) {
  if (is.null(cause)) return(if (length(object$causes) == 1) 0L)
  place <- NA
  if (length(cause) == 1) place <- match(as.character(cause), object$causes)
  if (length(cause) == 1 && is.na(place)) place <- match(as.character(cause), object$codes)
  if (is.na(place)) {
    abort("data", "cause must be one of ", quoted(object$causes), "; got ", quoted(cause), ".",
      call = call
    )
  }
  place - 1L
}

require_numbers <- function(x, name, call) {
  if (is.null(x)) return()
  if (!is.numeric(x) || is.object(x) || length(x) == 0) {
    seen <- if (length(x)) paste("a", class(x)[[1]]) else "none"
    abort("data", name, " must be numbers; got ", seen, ".", call = call)
  }
  wrong <- which(is.na(x) | x < 0)
  if (length(wrong)) {
    abort("data", name, " must be numbers of zero or more; got ", x[[wrong[[1]]]], ".", call = call)
  }
}

require_interval <- function(interval, type, call) {
  if (!isTRUE(interval) && !isFALSE(interval)) {
    abort("setting", "interval must be TRUE or FALSE; got ", quoted(interval), ".", call = call)
  }
  if (interval && !type %in% c("incidence", "survival")) {
    abort("setting", "interval = TRUE is for incidence and survival; got type = '", type, "'.",
      call = call
    )
  }
}

# With delayed entry curves begin at the first entry, which is seldom what is asked.
warn_of_late_start <- function(object, type, conditional_after, call) {
  first <- object$time_grid[[1]]
  if (first > 0 && is.null(conditional_after) && type != "typicality") {
    warn(
      "the curves begin at ", format(first), ", when the first subject entered, and ",
      "conditional_after is not given: they are those of somebody event-free at ", format(first),
      ". To ask from a time of each row's own on, such as its age now, give conditional_after.",
      call = call
    )
  }
}

refuse_others <- function(..., call) {
  if (...length()) {
    others <- ...names()
    abort("setting", "unused argument ",
      quoted(if (is.null(others)) "without a name" else others), ".",
      call = call
    )
  }
}

#' Risks for riskRegression
#'
#' The method by which `riskRegression::Score()` and others ask for predicted risks: the incidence
#' of a cause by each time.
#'
#' @param object A fit of [survtrace()].
#' @param newdata,times,cause As for [predict()][predict.survtrace]; the first cause by default.
#' @param ... `conditional_after` and `extrapolate` of [predict()][predict.survtrace]; what
#'   riskRegression adds is ignored.
#' @return A matrix of rows and times.
#' @exportS3Method riskRegression::predictRisk
predictRisk.survtrace <- function(object, newdata, times, cause, ...) {
  if (missing(cause) || is.null(cause)) cause <- object$codes[[1]]
  known <- list(...)[intersect(...names(), c("conditional_after", "extrapolate"))]
  given <- list(object, newdata, times, type = "incidence", cause = cause)
  unname(do.call(stats::predict, c(given, known)))
}
