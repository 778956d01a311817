# Makes start_stop.json: start-stop rows of R's vignette "Using time dependent covariates" (pbcseq by
# tmerge), of the first subjects. Run: Rscript start_stop.R > start_stop.json
library(survival)
library(jsonlite)

first <- 60
baseline <- subset(pbc, id <= first, select = c(id, time, status, age, sex))
visits <- subset(pbcseq, id <= first, select = c(id, day, ascites, bili, albumin, protime, alk.phos))
rows <- tmerge(baseline[c("id", "age", "sex")], baseline, id = id, death = event(time, status))
rows <- tmerge(rows, visits, id = id, ascites = tdc(day, ascites), bili = tdc(day, bili),
               albumin = tdc(day, albumin), protime = tdc(day, protime), alk.phos = tdc(day, alk.phos))
cat(toJSON(list(version = as.character(packageVersion("survival")), outcomes = baseline,
                visits = visits, rows = as.data.frame(rows)),
           dataframe = "columns", na = "null", digits = NA, auto_unbox = TRUE), "\n")
