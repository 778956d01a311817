# What the formula and the data frame mean.

test_that("terms become covariates, and factors and missing values stay what they are", {
  fit <- shared_fit()
  expect_equal(fit$covariates, c("age", "sex", "log(hgb)", "creat"))
  expect_equal(fit$causes, c("pcm", "death"))
  missing <- summary(fit)$missing
  expect_equal(missing[["creat"]], sum(is.na(mgus2$creat)))
})

test_that("a dot leaves out the outcome, id, weights and what is taken away", {
  skip_without_python()
  lung <- transform(survival::lung, subject = seq_along(time), w = 1)
  fit <- small(Surv(time, status) ~ . - inst, lung, id = subject, weights = w, intervals = FALSE)
  expect_setequal(fit$covariates, setdiff(names(lung), c("time", "status", "inst", "subject", "w")))
})

test_that("columns of every kind reach Python unchanged", {
  column <- function(x) survtrace:::python_column(x, "x")
  read <- function(content, type) readBin(content, type, 9, endian = "little")
  expect_equal(read(column(c(1L, NA))$values, "double"), c(1, NA_real_))
  expect_equal(read(column(c(TRUE, NA, FALSE))$values, "integer"), c(1L, -1L, 0L))
  text <- column(c("b", NA, "ä", "b"))
  expect_equal(read(text$values, "integer"), c(0L, -1L, 1L, 0L))
  expect_equal(unlist(text$levels), c("b", "ä"))
  ordered <- column(factor("high", c("low", "high", "never"), ordered = TRUE))
  expect_equal(read(ordered$values, "integer"), 1L)
  expect_equal(length(ordered$levels), 3)
  expect_true(ordered$ordered)
  expect_equal(read(column(addNA(factor(c("a", NA))))$values, "integer"), c(0L, -1L))
})

test_that("what has no meaning as a covariate is refused by name", {
  refused <- function(x, words) {
    expect_error(survtrace:::python_column(x, "x"), words, class = "survtrace_data_error")
  }
  refused(Sys.Date(), "'x' is a Date")
  refused(Sys.time(), "'x' is a POSIXct")
  refused(structure(1, class = "integer64"), "class integer64")
  refused(1i, "is a complex")
})

test_that("formulas that mean something else are refused with a way out", {
  refused <- function(formula, words) {
    expect_error(survtrace(formula, mgus2), words, class = "survtrace_data_error")
  }
  refused(Surv(time, event) ~ age * sex, "interactions are learned")
  refused(Surv(time, event) ~ age + strata(sex), "have no meaning here")
  refused(Surv(time, event) ~ age + offset(hgb), "have no meaning here")
  refused(Surv(time, event) ~ 1, "names no covariate")
  refused(~age, "no left side")
  refused(time ~ age, "left side of the formula must be Surv")
  refused(Surv(time, death, type = "left") ~ age, "'left' is not supported")
  suppressWarnings(refused(Surv(time, pstat + 2 * death) ~ age, "give causes as a factor"))
  expect_error(survtrace(Surv(time, event) ~ age, as.list(mgus2)), "must be a data frame")
  twice <- cbind(mgus2, age = 1)
  expect_error(survtrace(Surv(time, event) ~ age, twice), "several called 'age'")
})

test_that("every way to write the outcome is read", {
  outcome <- function(y) survtrace:::read_outcome(y)
  status <- factor(c("no", "b", "a"), c("no", "a", "b"))
  expect_equal(outcome(Surv(1:3, status))$event, c(0, 2, 1))
  expect_equal(outcome(Surv(1:3, status))$states, c("a", "b"))
  late <- outcome(Surv(0:2, 1:3, c(0, 1, 1)))
  expect_equal(late$entry, 0:2, ignore_attr = TRUE)
  expect_equal(late$duration, 1:3, ignore_attr = TRUE)
  expect_equal(outcome(Surv(0:2, 1:3, status))$event, c(0, 2, 1))
  skip_if_not_installed("prodlim")
  competing <- outcome(prodlim::Hist(1:3, c(0, 2, 1)))
  expect_equal(competing$event, c(0, 2, 1), ignore_attr = TRUE)
  expect_equal(competing$states, c("1", "2"))
  late <- outcome(prodlim::Hist(1:3, c(0, 1, 1), entry = c(0, .5, 1)))
  expect_equal(late$entry, c(0, .5, 1), ignore_attr = TRUE)
})

test_that("names with spaces and umlauts, tibbles and unused levels are taken as they are", {
  skip_without_python()
  lung <- survival::lung
  names(lung)[names(lung) == "ph.ecog"] <- "Größe in cm"
  lung$sex <- factor(lung$sex, 1:3, c("männlich", "weiblich", "divers"))
  class(lung) <- c("tbl_df", "tbl", "data.frame")
  fit <- small(Surv(time, status) ~ `Größe in cm` + sex, lung, intervals = FALSE)
  expect_equal(fit$covariates, c("Größe in cm", "sex"))
  expect_silent(predict(fit, lung[1, ], times = 365))
})
