// Command testrun runs one part of `make test` under gotestsum, or prints the sum of parts that have run:
//
//	testrun -within 1h -timeout 10m -part DIR/test-go gotestsum --jsonfile DIR/test-go.events --raw-command -- go test -json ./...
//	testrun DIR/test-go DIR/test-bench
//
// gotestsum prints what the tests do, and keeps their events. Testrun chooses by the pace of the machine how many packages
// are tested at once, and ends what takes too long. Both limits, of the part and of the tests of a package, are those of
// the fastest machine. A part in which a test was skipped, or none has passed, has failed.
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
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rueidisson/rueidisson/internal/pace"
	"github.com/rueidisson/rueidisson/internal/testrun/gotest"
)

// result is what came of a part. Rounds are those of tests that assert how long something took, see Within in package
// redistest. Failed are the commands that repeat what failed.
type result struct {
	Passed, Skipped, Rounds, Repeated int
	Failed                            []string
	Took                              time.Duration
	Pace                              float64
	Problem                           string
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
	began := time.Now()
	r, err := run(ctx, pace.Scale(*within), pace.Scale(*timeout), *part, flag.Args())
	r.Took, r.Pace = time.Since(began).Round(time.Second), pace.Factor()
	if err != nil {
		r.Problem = ": " + strings.ReplaceAll(err.Error(), "\n", ", ")
	}
	text, _ := json.Marshal(r) // of fields that can all be written
	if err := errors.Join(err, os.WriteFile(*part+".json", text, 0o644)); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

// run runs a part until it ends, or until ctx or its time does. Then all that it has started is interrupted, and killed
// 10 s later. A -p or -timeout of the command counts before that of the environment.
func run(ctx context.Context, within, timeout time.Duration, part string, command []string) (r result, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("ended after %v, which is how long it may take", within))
	defer cancel()
	fmt.Printf("pace %.1f: %d packages and %d tests of each at once\n", pace.Factor(), pace.Packages(), pace.Tests())
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%.2f", pace.Variable, pace.Factor()),
		fmt.Sprintf("GOFLAGS=-p=%d -timeout=%v %s", pace.Packages(), timeout, os.Getenv("GOFLAGS")))
	cmd.SysProcAttr, cmd.WaitDelay = &syscall.SysProcAttr{Setpgid: true}, 10*time.Second
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	err = cmd.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	r, problem := read(os.Stdout, part+".events", command[slices.Index(command, "--")+1:])
	return r, errors.Join(err, context.Cause(ctx), problem)
}

// logged matches what a test says by t.Log, and what go test says of it.
var logged = regexp.MustCompile(`^(=== | *--- |    \S|        )`)

// read reads the events of a part, and prints what gotestsum leaves out: the counts of a soak, and in a package that
// failed what passed tests have printed. The panic or the race of another test may be among that.
func read(out io.Writer, events string, command []string) (r result, err error) {
	file, err := os.Open(events)
	if err != nil {
		return r, err
	}
	defer file.Close()
	last, said := map[gotest.Test]string{}, map[gotest.Test]string{}
	err = gotest.Read(file, func(e gotest.Event) {
		switch test := e.Of(); {
		case slices.Contains([]string{"start", "run", "pass", "skip", "fail"}, e.Action):
			last[test] = e.Action
		case e.Action == "output" && !logged.MatchString(e.Output):
			said[test] += e.Output
		case e.Key == "soak":
			fmt.Fprintf(out, "full count of %s %s: %s\n", test.Package, test.Name, e.Value)
		case e.Key == "rounds":
			r.Rounds++
		case e.Key == "repeated":
			r.Repeated++
		}
	}, func(string) {})
	var failed []gotest.Test // or cut short
	for test, action := range last {
		switch of := last[gotest.Test{Package: test.Package}]; {
		case action != "pass" && action != "skip":
			failed = append(failed, test)
		case test.Name == "":
		case action == "skip":
			r.Skipped++
		default:
			r.Passed++
			if of != "pass" && said[test] != "" {
				fmt.Fprintf(out, "\nprinted beside %s %s, which passed:\n%s", test.Package, test.Name, said[test])
			}
		}
	}
	for _, test := range failed {
		if !slices.ContainsFunc(failed, func(f gotest.Test) bool { return f.Below(test) }) {
			r.Failed = append(r.Failed, again(command, test))
		}
	}
	slices.Sort(r.Failed)
	if len(r.Failed) > 0 || r.Skipped > 0 || r.Passed == 0 { // whatever the command says
		err = errors.Join(err, fmt.Errorf("%d tests failed, %d were skipped, and %d have passed", len(r.Failed), r.Skipped, r.Passed))
	}
	return r, err
}

// again returns the command that repeats one test of a command.
func again(command []string, test gotest.Test) string {
	words := slices.DeleteFunc(slices.Clone(command), func(word string) bool { return word == "-json" || strings.HasPrefix(word, "./") })
	if test.Name != "" {
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(test.Name), "/", "$/^") + "$"
		words = append(words, "-run", "'"+strings.ReplaceAll(pattern, "'", `'\''`)+"'")
	}
	return "RUEIDISSON_REQUIRE_SERVERS=1 " + strings.Join(append(words, test.Package), " ")
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
		all = result{all.Passed + r.Passed, all.Skipped + r.Skipped, all.Rounds + r.Rounds, all.Repeated + r.Repeated,
			append(all.Failed, r.Failed...), all.Took + r.Took, max(all.Pace, r.Pace), ""}
	}
	fmt.Fprintf(out, "%10s  pace %.1f, repeated rounds %d of %d\n", all.Took, all.Pace, all.Repeated, all.Repeated+all.Rounds)
	if len(all.Failed) > 0 {
		fmt.Fprintf(out, "\nto repeat what failed:\n  %s\n", strings.Join(all.Failed, "\n  "))
	}
	fmt.Fprintf(out, "\n%d passed, %d failed, %d skipped\n", all.Passed, len(all.Failed), all.Skipped)
}
