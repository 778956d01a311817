# The left side of the formula: Surv() of survival or Hist() of prodlim, as event and times.

# A list of event (0 if censored), duration, entry, and the states that codes stand for.
read_outcome <- function(y, call = NULL) {
  if (inherits(y, "Surv")) {
    found <- read_surv(y, call)
  } else if (inherits(y, "Hist")) {
    found <- read_hist(y, call)
  } else {
    abort(
      "data", "the left side of the formula must be Surv(time, status), ",
      "Surv(start, stop, status) or Hist(time, status); got an object of class ", class(y)[[1]],
      ".", call = call
    )
  }
  require_known(found, call)
  found
}

read_surv <- function(y, call) {
  type <- attr(y, "type")
  if (!type %in% c("right", "counting", "mright", "mcounting")) {
    abort("data", "Surv() of type '", type, "' is not supported; only censoring on the right is.",
      call = call
    )
  }
  counting <- type %in% c("counting", "mcounting")
  y <- unclass(y)
  list(
    event = y[, "status"],
    duration = y[, if (counting) "stop" else "time"],
    entry = if (counting) y[, "start"],
    states = attr(y, "states")
  )
}

read_hist <- function(y, call) {
  if (!attr(y, "model") %in% c("survival", "competing.risks") ||
    !attr(y, "cens.type") %in% c("rightCensored", "uncensored")) {
    abort("data", "Hist() of a multi-state model, or with censoring other than on the right, is ",
      "not supported.",
      call = call
    )
  }
  states <- attr(y, "states")
  y <- unclass(y)
  competing <- "event" %in% colnames(y)
  list(
    event = if (competing) ifelse(y[, "status"] == 0, 0, y[, "event"]) else y[, "status"],
    duration = y[, "time"],
    entry = if ("entry" %in% colnames(y)) y[, "entry"],
    states = if (competing) states
  )
}

require_known <- function(outcome, call) {
  if (length(outcome$event) == 0) abort("data", "no row is left to fit.", call = call)
  unknown <- is.na(outcome$event) | is.na(outcome$duration)
  if (!is.null(outcome$entry)) unknown <- unknown | is.na(outcome$entry)
  if (any(unknown)) {
    abort(
      "data", "time and status must be known in every row; they are NA in ", sum(unknown), " of ",
      length(unknown), " (first: row ", which(unknown)[[1]], "). Leave these out with subset =. ",
      "Surv() makes NA of a numeric status with several causes and of a stop that is not after ",
      "start: give causes as a factor, whose first level is censored.",
      call = call
    )
  }
}

# The outcome as Python reads it.
python_outcome <- function(outcome, id = NULL, weights = NULL) {
  list(
    event = numbers(outcome$event), duration = numbers(outcome$duration),
    entry = if (!is.null(outcome$entry)) numbers(outcome$entry),
    id = if (!is.null(id)) as.list(utf8(id)),
    weights = if (!is.null(weights)) numbers(weights)
  )
}

# The text shown for each cause that occurs, by its code; those the user gives are by state.
cause_names <- function(outcome, given, call) {
  occurring <- sort(unique(outcome$event[outcome$event > 0]))
  states <- if (is.null(outcome$states)) as.character(occurring) else outcome$states[occurring]
  shown <- if (!is.null(outcome$states)) states
  if (!is.null(given)) {
    given <- unlist(given)
    unknown <- setdiff(names(given), states)
    if (is.null(names(given)) || length(unknown)) {
      abort("setting", "cause_names must be named by causes, which are ", quoted(states),
        "; got ", quoted(if (length(unknown)) unknown else given), ".",
        call = call
      )
    }
    shown <- states
    shown[match(names(given), states)] <- given
  }
  if (!is.null(shown)) stats::setNames(as.list(utf8(shown)), as.character(occurring))
}
