# The formula: which rows and columns it means, at the fit and again at each prediction.

# Evaluate the formula in data: the model frame, with its terms and the columns they need.
open_formula <- function(formula, data, id, weights, subset, na.action, call) {
  if (!is.data.frame(data)) {
    abort("data", "data must be a data frame; got a ", class(data)[[1]], ".", call = call)
  }
  data <- as.data.frame(data) # a data.table or tibble selects columns in ways of its own
  roles <- intersect(c(all.vars(id), all.vars(weights)), names(data))
  terms <- stats::terms(formula, data = data[setdiff(names(data), roles)])
  require_main_terms(terms, call)
  # written anew: the frame would keep the columns that `. - id` takes out
  labels <- attr(terms, "term.labels")
  terms <- stats::terms(stats::reformulate(labels, formula[[2]], env = environment(formula)))
  require_distinct(data, all.vars(terms), call)
  asked <- as.call(list(
    quote(stats::model.frame), terms, data = quote(data), id = id, weights = weights,
    subset = subset, na.action = na.action
  ))
  asked <- asked[!vapply(as.list(asked), is.null, NA)]
  frame <- eval(asked, list(data = data), environment(formula))
  right <- right_side(attr(frame, "terms"), names(data))
  list(
    frame = frame, terms = right, used = intersect(all.vars(right), names(data)),
    formula = stats::reformulate(labels, formula[[2]], env = environment(right))
  )
}

# Refuse terms that mean something else here than their columns.
require_main_terms <- function(terms, call) {
  if (attr(terms, "response") == 0) {
    abort("data", "the formula has no left side; write Surv(time, status) ~ .", call = call)
  }
  if (any(attr(terms, "order") > 1)) {
    wrong <- attr(terms, "term.labels")[attr(terms, "order") > 1]
    abort("data", "interactions are learned from the covariates; leave ", quoted(wrong),
      " out of the formula (write a + b, not a * b).",
      call = call
    )
  }
  if (length(attr(terms, "term.labels")) == 0) {
    abort("data", "the formula names no covariate.", call = call)
  }
  special <- grepl("^(strata|cluster|tt|frailty|pspline|ridge)\\(", attr(terms, "term.labels"))
  if (any(special) || !is.null(attr(terms, "offset"))) {
    abort("data", "offset(), strata(), cluster() and the like have no meaning here; leave them ",
      "out. Subjects with several rows are named by id =.",
      call = call
    )
  }
}

require_distinct <- function(data, used, call) {
  twice <- unique(names(data)[duplicated(names(data))])
  if (any(twice %in% used)) {
    abort("data", "names of columns must differ; there are several called ",
      quoted(intersect(twice, used)), ".",
      call = call
    )
  }
}

# The right side alone, for predictions. It keeps what it uses beside columns of the data
# (constants, functions of the user), and nothing else: the environment of a call may hold
# gigabytes, which saveRDS() would write.
right_side <- function(terms, columns) {
  terms <- stats::delete.response(terms)
  used <- setdiff(all.names(terms), columns)
  at <- environment(terms)
  kept <- list()
  repeat {
    if (isNamespace(at) || identical(at, emptyenv()) || is_attached(at)) break
    here <- setdiff(intersect(used, ls(at, all.names = TRUE)), names(kept))
    kept <- c(kept, mget(here, envir = at))
    if (identical(at, globalenv())) break
    at <- parent.env(at)
  }
  environment(terms) <- list2env(kept, parent = if (isNamespace(at)) at else globalenv())
  terms
}

is_attached <- function(env) {
  !identical(env, globalenv()) && environmentName(env) %in% c(search(), "base")
}

# The covariates of new rows, as the formula of the fit makes them.
open_newdata <- function(object, newdata, call) {
  if (!is.data.frame(newdata)) {
    abort("data", "newdata must be a data frame; got a ", class(newdata)[[1]], ".", call = call)
  }
  newdata <- as.data.frame(newdata)
  needed <- if (is.null(object$terms)) object$covariates else object$used
  absent <- setdiff(needed, names(newdata))
  if (length(absent)) {
    abort("data", "newdata lacks ", quoted(absent),
      ", which the fit used. What is not known is NA.",
      call = call
    )
  }
  require_distinct(newdata, needed, call)
  if (is.null(object$terms)) return(newdata[needed])
  if (nrow(newdata) == 0) return(newdata) # splines and the like cannot be evaluated on no rows
  frame <- stats::model.frame(object$terms, newdata, na.action = stats::na.pass)
  if (nrow(frame) != nrow(newdata)) {
    abort("data", "the formula gives ", nrow(frame), " rows for the ", nrow(newdata),
      " of newdata: it uses variables that are not columns of the data.",
      call = call
    )
  }
  frame
}
