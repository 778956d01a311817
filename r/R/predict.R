#' Predict incidences, survival and more
#'
#' @param object A fit of [survtrace()].
#' @param newdata A data frame with the columns that the formula names; others are ignored. `NA` is
#'   a value that is not known, a level that the fit has not seen an unseen one (with a warning).
#' @param times Times from the same origin as those of the fit; by default those of
#'   `object$time_grid`. A matrix has a row of times for each row of `newdata`.
#' @param type `"incidence"`: the probability that each cause has struck by each time.
#'   `"survival"`: that of no event. `"hazard"`: cumulative hazards. `"risk"`: one score for each row, the
#'   incidence of any cause at the median event time; higher is worse. `"quantile"`: the time by
#'   which an event has happened with probability `q`, `Inf` if that is beyond the last event of the fit. `"rmst"`: the mean
#'   event-free time up to each time. `"typicality"`: the share of the patients learned from who are at least as unusual as
#'   this one; below 0.01 a prediction should not be trusted.
#' @param cause For incidences and hazards, one cause: its name, or its number among the levels of status.
#' @param conditional_after A time, or one for each row, at which the subject is known to be
#'   event-free: the answer is then about the time after it. With age as the clock, the age now.
#' @param interval Whether to give intervals of incidences or survival, too.
#' @param level Share of subjects whose true incidence is to lie in their interval.
#' @param q Probabilities of the quantiles.
#' @param extrapolate What times beyond the last event of the fit get: `"constant"` (with a warning), `"nan"` or `"raise"`.
#' @param ... Not used; anything given here is an error.
#' @return For `"incidence"` and `"hazard"` an array of rows, causes and times, or a matrix of rows and times where
#'   `cause` is given or the fit has one cause; a matrix for `"survival"`, `"rmst"` and `"quantile"`; else a
#'   vector. Dimensions are named. With `interval = TRUE` a list of `fit`, `lower` and `upper`.
#' @examplesIf survtrace_available()
#' lung <- survival::lung
#' fit <- survtrace(Surv(time, status) ~ age + sex + ph.ecog, lung, n_members = 1, max_epochs = 2)
#' predict(fit, lung[1:3, ], times = c(180, 365), type = "survival")
#' predict(fit, lung[1:3, ], times = 365, interval = TRUE)
#' predict(fit, lung[1:3, ], type = "quantile", q = 0.5, conditional_after = 100)
#' @export
predict.survtrace <- function(object, newdata, times = NULL,
                              type = c("incidence", "survival", "hazard", "risk", "quantile", "rmst", "typicality"),
                              cause = NULL, conditional_after = NULL, interval = FALSE,
                              level = 0.95, q = 0.5, extrapolate = "constant", ...) {
  call <- match.call()
  type <- match.arg(type)
  refuse_others(..., call = call)
  if (missing(newdata)) {
    abort("data", "newdata is missing; a fit does not keep the rows it has learned from.", call = call)
  }
  if (interval && !type %in% c("incidence", "survival")) {
    abort("setting", "interval = TRUE is for incidence and survival; got type = \"", type, "\".", call = call)
  }
  require_numbers(times, "times", call)
  require_numbers(conditional_after, "conditional_after", call)
  frame <- open_newdata(object, newdata, call)
  warn_of_late_start(object, type, conditional_after, call)
  if (type == "rmst" && is.null(times)) times <- max(object$time_grid)
  times <- if (is.null(times)) object$time_grid else times
  if (length(object$causes) == 1 && is.null(cause)) cause <- object$codes
  place <- if (type %in% c("incidence", "hazard")) cause_place(object, cause, call)
  labels <- answer_labels(object, type, row.names(newdata), times, place, q)
  if (nrow(newdata) == 0) {
    empty <- named_array(numeric(), labels)
    return(if (interval) list(fit = empty, lower = empty, upper = empty) else drop_vector(empty))
  }
  asked <- list(
    times = if (is.matrix(times)) numbers(t(times)) else numbers(times),
    times_by_row = if (is.matrix(times)) ncol(times),
    cause = place, interval = interval, level = level, q = numbers(q), extrapolate = extrapolate,
    conditional_after = if (!is.null(conditional_after)) numbers(conditional_after)
  )
  columns <- python_columns(frame, call)
  found <- ask("predict", loaded_model(object, call), columns, type, asked, call = call)
  arrays <- lapply(found$arrays, function(content) {
    values <- readBin(content, "double", length(content) / 8, endian = "little")
    drop_vector(named_array(values, labels))
  })
  if (interval) stats::setNames(arrays, c("fit", "lower", "upper")) else arrays[[1]]
}

# The names along each dimension of an answer.
answer_labels <- function(object, type, rows, times, place, q) {
  along_time <- if (is.matrix(times)) as.character(seq_len(ncol(times))) else format_times(times)
  switch(type,
    risk = , typicality = list(rows),
    quantile = list(rows, q = as.character(q)),
    survival = , rmst = list(rows, time = along_time),
    if (is.null(place)) {
      list(rows, cause = object$causes, time = along_time)
    } else {
      list(rows, time = along_time)
    }
  )
}

format_times <- function(times) formatC(times, digits = 15, width = 1, format = "g")

named_array <- function(values, labels) array(values, unname(lengths(labels)), labels)

drop_vector <- function(x) if (length(dim(x)) == 1) stats::setNames(as.vector(x), names(x)) else x

# The place of a cause, from 0; by its name, or by its number among the levels of status.
cause_place <- function(object, cause, call) {
  if (is.null(cause)) return(NULL)
  place <- if (length(cause) == 1) match(as.character(cause), object$causes) else NA
  if (is.na(place) && length(cause) == 1) place <- match(as.character(cause), object$codes)
  if (is.na(place)) {
    abort("data", "cause must be one of ", quoted(object$causes), "; got ", quoted(cause), ".", call = call)
  }
  place - 1L
}

require_numbers <- function(x, name, call) {
  if (is.null(x)) return()
  if (!is.numeric(x) || is.object(x)) {
    abort("data", name, " must be numbers; got a ", class(x)[[1]], ".", call = call)
  }
  wrong <- which(is.na(x) | x < 0)
  if (length(wrong)) {
    abort("data", name, " must be numbers of zero or more; got ", x[[wrong[[1]]]], ".", call = call)
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
    abort("setting", "unused argument ", quoted(if (is.null(others)) "without a name" else others), ".", call = call)
  }
}

#' Risks for riskRegression
#'
#' The method by which `riskRegression::Score()` and others ask for predicted risks: the incidence
#' of a cause by each time.
#'
#' @param object A fit of [survtrace()].
#' @param newdata,times,cause As for [predict()][predict.survtrace]; the first cause by default.
#' @param ... More arguments of [predict()][predict.survtrace]; what riskRegression adds is ignored.
#' @return A matrix of rows and times.
#' @exportS3Method riskRegression::predictRisk
predictRisk.survtrace <- function(object, newdata, times, cause, ...) {
  if (missing(cause) || is.null(cause)) cause <- object$codes[[1]]
  known <- list(...)[intersect(...names(), c("conditional_after", "extrapolate"))]
  given <- list(object, newdata, times, type = "incidence", cause = cause)
  unname(do.call(stats::predict, c(given, known)))
}
