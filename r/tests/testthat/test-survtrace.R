# Settings, seeds, errors and what a fit shows.

test_that("the seed is R's, unless one is given", {
  skip_without_python()
  fit <- function(...) small(Surv(time, event) ~ age + sex, mgus2, intervals = FALSE, ...)
  risks <- function(...) predict(fit(...), mgus2[1:3, ], type = "risk")
  set.seed(1)
  first <- risks()
  set.seed(1)
  expect_identical(risks(), first)
  expect_false(identical(risks(), first))
  expect_equal(fit(random_state = 7)$settings$random_state, 7)
})

test_that("settings have Python's rules and R's types", {
  skip_without_python()
  refused <- function(words, ...) {
    fit <- quote(survtrace(Surv(time, event) ~ age, mgus2, ...))
    expect_error(eval(fit), words, class = "survtrace_setting_error")
  }
  refused("'n_membrs' is no setting", n_membrs = 2)
  refused("n_members must be a whole number", n_members = 1.5)
  refused("one has no name", 3)
  refused("named by causes, which are 'pcm', 'death'", cause_names = c(relapse = "x"))
  refused("categorical takes names", categorical = 1)
  fit <- small(Surv(time, event) ~ age + sex, mgus2,
    time_grid = c(0, 60, 120, 300), anneal = NULL, categorical = "age", lr = 1e-2,
    cause_names = c(death = "Death without progression"), intervals = FALSE
  )
  expect_equal(fit$time_grid, c(0, 60, 120, 300))
  expect_equal(fit$causes, c("pcm", "Death without progression"))
})

test_that("errors of the data name the rule and the row as R counts", {
  skip_without_python()
  wrong <- transform(mgus2, hgb = replace(hgb, 3, Inf))
  found <- tryCatch(survtrace(Surv(time, event) ~ hgb, wrong), error = identity)
  expect_s3_class(found, c("survtrace_data_error", "survtrace_error", "error"), exact = FALSE)
  expect_match(conditionMessage(found), "must be finite; column 'hgb' has 1 infinite .*row 3")
  expect_equal(conditionCall(found)[[1]], quote(survtrace))
})

test_that("without Python the error says the way out", {
  other_session(
    "found <- tryCatch(survtrace(Surv(time, status) ~ age, survival::lung), error = identity)
    stopifnot(
      inherits(found, 'survtrace_python_error'),
      grepl('RETICULATE_PYTHON', conditionMessage(found)),
      !survtrace_available()
    )",
    env = "RETICULATE_PYTHON=/no/such/python"
  )
})

test_that("a fit shows subjects, events, covariates and settings", {
  fit <- shared_fit()
  shown <- paste(capture.output(print(fit)), collapse = "\n")
  expect_match(shown, "300 subjects, .* pcm, .* death")
  expect_match(shown, "covariates: age, sex, log\\(hgb\\), creat")
  expect_match(paste(capture.output(summary(fit)), collapse = " "), "time_unit = months")
  formula <- Surv(time, event) ~ age + sex + log(hgb) + creat
  expect_equal(formula(fit), formula, ignore_formula_env = TRUE)
})

test_that("update() of R fits anew with another formula or setting", {
  skip_without_python()
  fit <- survtrace(Surv(time, event) ~ age + sex, mgus2,
    n_members = 1, max_epochs = 1, intervals = FALSE
  )
  expect_equal(update(fit, . ~ . - sex)$covariates, "age")
})

test_that("curves and the training are drawn", {
  fit <- shared_fit()
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_equal(dim(plot(fit, mgus2[1:3, ])), c(3, 2, 101))
  expect_named(plot(fit, mgus2[1, ], type = "survival"), c("fit", "lower", "upper"))
  expect_true("validation_loss" %in% names(plot(fit)))
})

test_that("riskRegression scores a fit", {
  skip_if_not_installed("riskRegression")
  fit <- shared_fit()
  new <- mgus2[201:300, ]
  risks <- riskRegression::predictRisk(fit, newdata = new, times = c(60, 120), cause = "death")
  expect_equal(risks, unname(predict(fit, new, times = c(60, 120), cause = "death")))
  score <- riskRegression::Score(list(ours = fit),
    formula = Hist(time, event) ~ 1, data = new, times = 60, cause = "death",
    metrics = "brier", se.fit = FALSE
  )
  expect_setequal(score$Brier$score$model, c("Null model", "ours"))
})
