// Command testrun runs one part of `make test` under gotestsum, or prints the sum of parts that have run:
//
//	testrun -within 1h -timeout 10m -part DIR/test-go gotestsum --jsonfile DIR/test-go.events --raw-command -- go test -json ./...
//	testrun DIR/test-go DIR/test-bench
//
// It chooses by the pace of the machine how many packages are tested at once, and ends what takes too long. Both limits,
// of the part and of the tests of a package, are those of the fastest machine. A part in which a test has failed or was
// skipped, or none has passed, has failed, whatever its command says.
//
// The compiler collects its garbage a fourth as often as Go does by default: half of the time of a first run is
// compiling, and that takes a fifth less. Tests run as always.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rueidisson/rueidisson/internal/pace"
	"github.com/rueidisson/rueidisson/internal/testrun/gotest"
)

type result struct {
	gotest.Results
	Took    time.Duration
	Pace    float64
	Problem string
}

func main() {
	within := flag.Duration("within", time.Hour, "how long the part may take on a fast machine")
	timeout := flag.Duration("timeout", 10*time.Minute, "how long the tests of one package may take on a fast machine")
	part := flag.String("part", "", "file for what comes of the part, without its ending; empty to sum up")
	flag.Parse()
	if *part == "" {
		sum(os.Stdout, flag.Args())
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := run(ctx, pace.Scale(*within), pace.Scale(*timeout), *part, flag.Args())
	text, _ := json.Marshal(r) // of fields that can all be written
	if err := errors.Join(err, os.WriteFile(*part+".json", text, 0o644)); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

// run runs a part until it ends, or until ctx or its time does. Then all that it has started is interrupted, and killed
// 10 s later. A -p or -timeout of the command counts before that of the environment.
func run(ctx context.Context, within, timeout time.Duration, part string, command []string) (result, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("ended after %v, which is how long it may take", within))
	defer cancel()
	fmt.Printf("pace %.1f: %d packages and %d tests of each at once\n", pace.Factor(), pace.Packages(), pace.Tests())
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%.2f", pace.Variable, pace.Factor()),
		"GOGC=400", fmt.Sprintf("GOFLAGS=-p=%d -timeout=%v '-exec=env -u GOGC' %s", pace.Packages(), timeout, os.Getenv("GOFLAGS")))
	cmd.SysProcAttr, cmd.WaitDelay = &syscall.SysProcAttr{Setpgid: true}, 10*time.Second
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	err := cmd.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	results, problem := gotest.ResultsOf(command[slices.Index(command, "--")+1:], part+".events", os.Stdout)
	r := result{results, time.Since(began).Round(time.Second), pace.Factor(), ""}
	if err = errors.Join(err, context.Cause(ctx), problem); err != nil {
		r.Problem = ": " + strings.ReplaceAll(err.Error(), "\n", ", ")
	}
	return r, err
}

// sum prints what came of each part, and of all.
func sum(out io.Writer, parts []string) {
	var all result
	fmt.Fprintln(out, "\nsummary")
	for _, part := range parts {
		r := result{Problem: ": did not run to its end"}
		if text, err := os.ReadFile(part + ".json"); err == nil {
			_ = json.Unmarshal(text, &r)
		}
		fmt.Fprintf(out, "%10s  %s: %d passed, %d failed, %d skipped%s\n", r.Took, filepath.Base(part), r.Passed, len(r.Failed), r.Skipped, r.Problem)
		all = result{all.Plus(r.Results), all.Took + r.Took, max(all.Pace, r.Pace), ""}
	}
	fmt.Fprintf(out, "%10s  pace %.1f, repeated rounds %d of %d\n", all.Took, all.Pace, all.Repeated, all.Repeated+all.Rounds)
	if len(all.Failed) > 0 {
		fmt.Fprintf(out, "\nto repeat what failed:\n  %s\n", strings.Join(all.Failed, "\n  "))
	}
	fmt.Fprintf(out, "\n%d passed, %d failed, %d skipped\n", all.Passed, len(all.Failed), all.Skipped)
}
