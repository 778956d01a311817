# Scores of survtrace beside the cause-specific Cox and Fine-Gray models of riskRegression.
#
# mgus2 of the survival package, both causes, splits of two thirds and one third, horizons of 5, 10
# and 15 years, riskRegression::Score(). Run with the R package installed (`make r-score`):
#   Rscript benchmarks/r_score.R [splits] [out.csv]
# Missing values: ours learns from them; the others, which cannot, get the median of the training
# rows, and an indicator where ten are missing. All learn from and are scored on the same rows.

suppressPackageStartupMessages({
  library(survtrace)
  library(riskRegression)
  library(prodlim)
})

HORIZONS <- c(60, 120, 180) # months
CAUSES <- c("pcm", "death")
COVARIATES <- c("age", "sex", "hgb", "creat", "mspike")

read_mgus2 <- function() {
  mgus2 <- survival::mgus2
  mgus2$time <- with(mgus2, ifelse(pstat == 1, ptime, futime))
  states <- with(mgus2, ifelse(pstat == 1, 1, 2 * death))
  mgus2$event <- factor(states, 0:2, c("censored", CAUSES))
  mgus2[c("time", "event", COVARIATES)]
}

# Replace missing numbers by the median of the training rows, and mark them in a column.
fill <- function(rows, train) {
  for (name in names(train)[vapply(train, anyNA, NA)]) {
    unknown <- is.na(rows[[name]])
    rows[[name]][unknown] <- median(train[[name]], na.rm = TRUE)
    if (sum(is.na(train[[name]])) >= 10) rows[[paste0(name, "_unknown")]] <- as.numeric(unknown)
  }
  rows
}

score_split <- function(data, seed) {
  set.seed(seed)
  learned <- sample(nrow(data), round(2 / 3 * nrow(data)))
  train <- data[learned, ]
  test <- data[-learned, ]
  started <- proc.time()[["elapsed"]]
  ours <- survtrace(Surv(time, event) ~ ., train, time_unit = "months", random_state = seed)
  seconds <- proc.time()[["elapsed"]] - started
  filled <- fill(train, train)
  formula <- reformulate(setdiff(names(filled), c("time", "event")), quote(Hist(time, event)))
  scores <- lapply(CAUSES, function(cause) {
    # the formula itself in the call, as both evaluate the call again later
    csc <- do.call(CSC, list(formula, filled, cause = cause))
    fgr <- do.call(FGR, list(formula, filled, cause = cause))
    risks <- list(
      survtrace = predictRisk(ours, test, HORIZONS, cause),
      CSC = predictRisk(csc, fill(test, train), HORIZONS, cause),
      FGR = predictRisk(fgr, fill(test, train), HORIZONS, cause)
    )
    found <- Score(risks, Hist(time, event) ~ 1, test,
      times = HORIZONS, cause = cause, se.fit = FALSE, null.model = TRUE
    )
    found <- merge(found$Brier$score, found$AUC$score, by = c("model", "times"), all = TRUE)
    data.frame(split = seed, cause = cause, as.data.frame(found), fit_seconds = round(seconds, 1))
  })
  do.call(rbind, scores)
}

given <- commandArgs(trailingOnly = TRUE)
n_splits <- if (length(given) > 0) as.integer(given[[1]]) else 10L
out <- if (length(given) > 1) given[[2]] else "benchmarks/results/r_score.csv"
data <- read_mgus2()
scores <- do.call(rbind, lapply(seq_len(n_splits), function(seed) {
  found <- score_split(data, seed)
  cat("split", seed, "of", n_splits, "\n")
  found
}))
scores$Brier <- round(1000 * scores$Brier, 2)
scores$AUC <- round(scores$AUC, 4)
names(scores)[names(scores) == "times"] <- "months"
utils::write.csv(scores, out, row.names = FALSE)

cat("\nBrier x 1000, mean over", n_splits, "splits\n")
print(round(tapply(scores$Brier, scores[c("model", "months", "cause")], mean), 1))
cat("\nAUC\n")
print(round(tapply(scores$AUC, scores[c("model", "months", "cause")], mean), 3))
