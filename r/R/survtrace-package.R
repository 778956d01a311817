#' survtrace: transformers for survival analysis with competing events
#'
#' [survtrace()] fits, [predict()][predict.survtrace] answers, [saveRDS()] keeps. The work is done
#' by the Python package of the same name, through reticulate; [survtrace_available()] says whether
#' it was found.
#'
#' @name survtrace-package
#' @keywords internal
#' @importFrom survival Surv
NULL

#' @export
survival::Surv
