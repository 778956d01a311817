# Set-up happens by itself, once, in .venv; touching pyproject.toml or constraints.txt repeats it.
# The demo needs little (.venv/.demo); everything else adds the rest to it (.venv/.installed).
PYTHON ?= python3
BIN := .venv/bin
# Laws, formulas and what bad input gets: fast, and without server, browser or cluster.
FAST := $(addprefix tests/,laws losses network metrics inspection inference/test_curves.py inference/test_predictor.py test_bad_input.py \
	test_golden_fit.py test_naming.py test_persistence.py test_scikit_learn.py test_settings.py cli/commands/test_info.py)

.PHONY: demo check fast test kernels oldest newest mutants coverage licences sbom lint format docs study benchmarks r-check r-score clean

demo: .venv/.demo
	$(BIN)/survtrace demo --out demo

check: .venv/.installed
	$(MAKE) --jobs 2 --output-sync lint fast

fast: .venv/.installed
	$(BIN)/pytest -n 2 $(FAST)

# All tests but those of the kernels for GPUs run without one; these in a run of their own. The order is
# that of tests/conftest.py: what takes longest comes first, so that both processes end together.
IN_TURN := -n 2 --dist loadgroup --no-loadscope-reorder
test: .venv/.installed
	$(BIN)/pytest $(IN_TURN)
	@if $(BIN)/python -c "import sys, torch; sys.exit(not torch.cuda.is_available())"; \
	then SURVTRACE_TEST_GPU=1 $(BIN)/pytest tests/test_cuda.py tests/ops tests/laws/test_cutting.py; \
	else echo "no GPU here: its kernels were interpreted, tests/test_cuda.py was skipped"; fi

# Both processes of `make test` would compile the kernels of a fresh checkout at once; here one does.
kernels: .venv/.installed
	$(BIN)/pytest -n 0 tests/training/test_kernels_on_and_off.py tests/portable/test_kernel.py

oldest: .venv-oldest/.installed
	.venv-oldest/bin/pytest -n 2 $(FAST)

# What a user gets who installs today: the newest versions, which constraints.txt may not have yet.
newest: .venv-newest/.installed
	.venv-newest/bin/pytest -n 2 --dist loadgroup $(sort $(FAST) $(addprefix tests/,app/service cli/commands cohort inference inspection messy \
		tables test_estimator.py test_streaming.py training))

coverage: .venv/.installed
	$(BIN)/pytest $(IN_TURN) --cov --cov-report=term:skip-covered
	$(BIN)/coverage report --format=total --precision=1 > benchmarks/results/coverage_percent.txt

licences: .venv/.installed
	$(BIN)/python docs/licences.py

sbom: .venv/.installed
	$(BIN)/python docs/sbom.py dist/sbom.json

mutants: .venv/.installed
	$(BIN)/python benchmarks/mutants.py

lint: .venv/.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/.installed
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: .venv/.installed
	$(BIN)/mkdocs build --strict

study: .venv/.installed
	$(BIN)/survtrace benchmark paper-single --today --processes 2 --out benchmarks/results/paper-single
	$(BIN)/survtrace benchmark paper-competing --today --processes 2 --out benchmarks/results/paper-competing
	$(BIN)/survtrace benchmark robust --processes 2 --out benchmarks/results/robust
	$(BIN)/survtrace benchmark ablation --processes 2 --out benchmarks/results/ablation
	$(BIN)/survtrace benchmark ips --processes 2 --out benchmarks/results/ips
	$(BIN)/survtrace figures --ablation benchmarks/results/ablation/scores.csv --out docs/figures

benchmarks: .venv/.installed
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/concordance.py
	$(BIN)/python benchmarks/members.py
	$(BIN)/python benchmarks/coherence.py
	$(BIN)/python benchmarks/resume.py
	$(BIN)/python benchmarks/larger_than_memory.py
	$(BIN)/python benchmarks/serve_load.py
	$(BIN)/python benchmarks/portable.py
	$(BIN)/python benchmarks/calculator.py
	$(BIN)/python benchmarks/onnx_file.py
	$(BIN)/python benchmarks/ray_workers.py
	$(BIN)/python benchmarks/threads.py
	$(BIN)/python benchmarks/cold_start.py
	$(BIN)/python benchmarks/forest.py
	$(BIN)/python benchmarks/fill_tables.py
	$(BIN)/python benchmarks/seer_size.py --members 1

# The R package needs R with reticulate, survival, testthat, knitr, rmarkdown, prodlim and riskRegression.
IN_R := RETICULATE_PYTHON=$(abspath $(BIN)/python) R_LIBS=$(abspath .r-library)

r-check: .venv/.installed
	mkdir -p .r-library
	cd .r-library && $(IN_R) R CMD build ../r && $(IN_R) R CMD check --no-manual survtrace_*.tar.gz

r-score: .venv/.installed
	mkdir -p .r-library
	R CMD INSTALL --library=.r-library r
	$(IN_R) Rscript benchmarks/r_score.R

clean:
	rm -rf .venv .venv-oldest .venv-newest .r-library demo site

.venv/.demo: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[plots]'
	touch $@

.venv/.installed: .venv/.demo
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

.venv-oldest/.installed: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install --quiet --constraint constraints-oldest.txt --editable '.[plots,parquet,excel,tune,onnx]' \
		beartype hypothesis polars pytest pytest-xdist
	touch $@

.venv-newest/.installed: pyproject.toml
	$(PYTHON) -m venv --clear .venv-newest
	.venv-newest/bin/pip install --quiet torch==2.13.0 --editable '.[plots,parquet,excel,tune,onnx,app,report]' \
		beartype httpx2 hypothesis jsonschema polars 'pytest<9.2' pytest-xdist
	touch $@
