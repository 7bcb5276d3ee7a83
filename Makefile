# demo      a flash sale that never oversells; needs only Go
# test      everything, against real servers (and the real Redisson); installs what is missing on Debian; ends with a summary
# busy      another target on a machine that is made slow on purpose: make busy test
# soak      the same tests with their full counts, in at most two hours for each part; says what it ran. It ends with an hour of chaos
# chaos     what the library promises under faults, for longer than in make test; TIME=1h says for how long, CHAOS='-only fair,cut' what
# chaos-short   the rounds of chaos that make test has
# mutants   removes lines of scripts, and says which of them chaos misses; MUTANTS=200 says how many, TIME=1h for how long at most
# lint      format, vet, staticcheck
# bench     benchmarks; BENCH='Lock' chooses some
# ratios    this library beside its floors and peers, into docs/speed.json, and from it docs/speed.md and docs/img/speed.svg;
#           takes some minutes; RATIOS='-only fair -load "a busy machine"' chooses rows, and says what else the machine does
# pictures  the pictures of README.md, into docs/img: real runs of the flash sale, and rows of docs/speed.json
# fuzz      each fuzz target for a few seconds; FUZZTIME=1m for longer
# servers   Redis 7.0, Redis 8.0, Valkey 8.1 and the module RedisJSON into .servers
# interop-table   what the last test-interop has proven, into docs/interop.md

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOTESTSUM   = gotest.tools/gotestsum@v1.13.0
BENCH       = .
FUZZTIME    = 5s
TIME        = 10m
MUTANTS     = 40
CHAOS       =
RATIOS      =
results     = .cache/results
proven      = $(results)/test-interop.events
timeout    ?= 10m
within     ?= 30m

# make busy TARGET...: the targets run in a make of their own, and all that they start is slowed down.
ifeq (busy,$(firstword $(MAKECMDGOALS)))

.PHONY: busy
busy:
	@mkdir -p .cache
	go build -o .cache/busy ./internal/busy
	.cache/busy $(MAKE) --no-print-directory $(filter-out busy,$(MAKECMDGOALS))

%:
	@:

else

# gotestsum runs the tests and prints what they do. testrun ends what takes too long for a machine of this pace, and leaves
# what came of the target for the summary.
TESTRUN     = mkdir -p $(results) && RUEIDISSON_REQUIRE_SERVERS=1 \
	go run ./internal/testrun -within $(within) -timeout $(timeout) -part $(results)/$@ \
	go run $(GOTESTSUM) --format pkgname-and-test-fails --format-icons text --ignore-non-json-output-lines \
	--jsonfile $(results)/$@.events --raw-command --
TEST        = test -vet=off -json -count=1
STORM       = RUEIDISSON_REQUIRE_SERVERS=1 go test -count=1

# Folders that may be there: modules of their own, and tests behind a build tag.
bench   = $(wildcard bench/go.mod)
grpc    = $(wildcard ratelimiter/grpclimit/go.mod)
sql     = $(wildcard fence/sqltest/go.mod)
interop = $(wildcard interop/java/pom.xml)

.PHONY: demo servers test test-repo test-go test-bench test-grpc test-sql test-interop soak chaos chaos-short mutants interop-table lint lint-format lint-go lint-bench lint-grpc lint-sql bench ratios pictures fuzz

demo:
	go run ./examples/flashsale

servers:
	sh scripts/servers.sh

parts = test-repo test-go $(if $(bench),test-bench) $(if $(grpc),test-grpc) $(if $(sql),test-sql) $(if $(interop),test-interop)

# All parts run, also when one of them fails.
test:
	@rm -rf $(results)
	@failed=; for part in $(parts); do $(MAKE) --no-print-directory $$part || failed="$$failed $$part"; done; \
		for part in $(parts); do echo; echo "slowest of $$part"; \
			go run $(GOTESTSUM) tool slowest --num 10 --jsonfile $(results)/$$part.events; done; \
		test -z "$$failed" || echo "failed:$$failed"; \
		go run ./internal/testrun $(addprefix $(results)/,$(parts)) && test -z "$$failed"

# What reads the repository and runs no server: a quarter of a minute, and a minute and a half with the race detector.
test-repo:
	$(TESTRUN) go $(TEST) ./internal/repo

# The packages whose tests take longest come first, so that the others run beside them.
test-go: servers
	sh scripts/cc.sh
	$(TESTRUN) go $(TEST) -race ./rmap ./rmap/writethrough ./queue/reliable ./queue ./cmd/rueidisson ./rmap/readthrough ./rmap/nearcache ./lock ./semaphore $$(go list ./... | grep -v /internal/repo$$)

test-bench: servers
	$(TESTRUN) go -C bench $(TEST) ./...

test-grpc: servers
	$(TESTRUN) go -C ratelimiter/grpclimit $(TEST) -race ./...

test-sql: servers
	$(TESTRUN) go -C fence/sqltest $(TEST) ./...

# The jars are built first, so that Maven takes none of the time. table fails where a test was skipped, and where the
# page claims something else than what has just been proven.
test-interop: servers
	sh scripts/cc.sh
	sh scripts/java.sh
	go run ./interop/jars
	$(TESTRUN) go $(TEST) -p 1 -tags interop ./interop/...
	go run ./interop/table -check docs/interop.md $(proven)

# What has a count for every day has its full count here, see package redistest.
soak: export RUEIDISSON_SOAK = 1
soak: export timeout = 90m
soak: export within = 2h
soak: test
	RUEIDISSON_SOAK= $(MAKE) --no-print-directory chaos TIME=1h

chaos: servers
	sh scripts/cc.sh
	$(STORM) -v -timeout 24h -run 'TestNobodyHolds|TestSeedsAreFound' ./chaos -args -page ../docs/reliability.md -for $(TIME) $(CHAOS)

chaos-short: servers
	sh scripts/cc.sh
	$(STORM) -race -timeout 10m ./chaos $(if $(CHAOS),-args $(CHAOS))

mutants: servers
	$(STORM) -v -timeout 24h -run TestNobodyHolds ./chaos -args -page ../docs/reliability.md -mutants $(MUTANTS) -for $(TIME) $(CHAOS)

interop-table:
	go run ./interop/table -write docs/interop.md $(proven)

# The tag adds files and leaves none out, so one look sees all. staticcheck and gotestsum are run at fixed versions
# without being dependencies: what users of the module resolve stays ours alone.
lint: lint-format lint-go $(if $(bench),lint-bench) $(if $(grpc),lint-grpc) $(if $(sql),lint-sql)

lint-format:
	@unformatted=$$(gofmt -l $$(find . -name '*.go' -not -path './.*')); \
		test -z "$$unformatted" || { echo "gofmt: $$unformatted"; exit 1; }

lint-go:
	go vet -tags interop ./...
	go run $(STATICCHECK) -tags interop ./...

lint-bench:
	cd bench && go vet ./... && go run $(STATICCHECK) ./...

lint-grpc:
	cd ratelimiter/grpclimit && go vet ./... && go run $(STATICCHECK) ./...

lint-sql:
	cd fence/sqltest && go vet ./... && go run $(STATICCHECK) ./...

bench: servers
	cd bench && RUEIDISSON_REQUIRE_SERVERS=1 go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

ratios: servers
	cd bench && RUEIDISSON_REQUIRE_SERVERS=1 go test -count=1 -timeout 2h -run TestRatios -v . -args -ratios -docs ../docs -rounds 11 $(RATIOS)
	go -C bench run ./pictures -only speed

pictures:
	go -C bench run ./pictures

# go test takes one fuzz target of one package at a time. A new input is made small only a little: where several goroutines
# run, it takes another way each time, and that would be all that is done.
fuzz:
	@set -e; for file in $$(grep -rl --include='*_test.go' --exclude-dir=bench '^func Fuzz' .); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' $$file); do \
			echo "fuzz $$(dirname $$file) $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x $$(dirname $$file); \
		done; \
	done

endif
