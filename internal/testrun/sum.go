package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/pace"
	"github.com/rueidisson/rueidisson/internal/testrun/gotest"
)

// results are what a part of a run leaves for the sum.
type results struct {
	Passed, Skipped  int
	Rounds, Repeated int
	Failed           []string // commands that repeat them
	Took             time.Duration
	Pace             float64
	Problem          string // empty if the part succeeded
}

// paced returns the environment for a command whose tests follow the pace of this machine, and prints what it chose. A
// -p or -timeout of the command itself counts before that of the environment.
func paced(out io.Writer, timeout time.Duration) []string {
	fmt.Fprintf(out, "pace %.1f: %d packages and %d tests of each at once\n", pace.Factor(), pace.Packages(), pace.Tests())
	flags := fmt.Sprintf("%s -p=%d", os.Getenv("GOFLAGS"), pace.Packages())
	if timeout > 0 {
		flags += fmt.Sprintf(" -timeout=%v", pace.Scale(timeout))
	}
	return []string{fmt.Sprintf("%s=%.2f", pace.Variable, pace.Factor()), "GOFLAGS=" + strings.TrimSpace(flags)}
}

// round counts the rounds of a test that asserts how long something took.
func (r *report) round(e gotest.Event) {
	switch e.Key {
	case "rounds":
		r.rounds++
	case "repeated":
		r.rounds++
		r.repeated++
	}
}

// leave writes the results of a part into its file.
func leave(o options, r *report, took time.Duration, problem error) error {
	if o.results == "" {
		return nil
	}
	all := results{Passed: r.passed, Skipped: r.skipped, Rounds: r.rounds, Repeated: r.repeated, Took: took, Pace: pace.Factor()}
	for _, test := range r.repeatable() {
		all.Failed = append(all.Failed, again(o.command, test))
	}
	if problem != nil {
		all.Problem = problem.Error()
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(o.results, 0o755), os.WriteFile(file(o.results, o.part), text, 0o644))
}

func file(dir, part string) string { return filepath.Join(dir, part+".json") }

// repeatable returns the failed tests, and those that were cut short. A parent, or a package, that failed with one of
// them is left out.
func (r *report) repeatable() (all []gotest.Test) {
	failed := append([]gotest.Test(nil), r.failed...)
	for test := range r.going {
		failed = append(failed, test)
	}
	for _, test := range sorted(func(yield func(gotest.Test) bool) {
		for _, f := range failed {
			if !yield(f) {
				return
			}
		}
	}) {
		if !within(test, failed) {
			all = append(all, test)
		}
	}
	return all
}

// within is true for a test with a failed one below it.
func within(test gotest.Test, failed []gotest.Test) bool {
	for _, f := range failed {
		if f.Package == test.Package && f != test && (test.Name == "" || strings.HasPrefix(f.Name, test.Name+"/")) {
			return true
		}
	}
	return false
}

// again returns the command that repeats one test of a command.
func again(command []string, test gotest.Test) string {
	words := []string{"RUEIDISSON_REQUIRE_SERVERS=1"}
	for _, word := range command {
		if word != "-json" && !strings.HasPrefix(word, "./") {
			words = append(words, word)
		}
	}
	if test.Name != "" {
		var parts []string
		for part := range strings.SplitSeq(test.Name, "/") {
			parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
		}
		words = append(words, "-run", "'"+strings.ReplaceAll(strings.Join(parts, "/"), "'", `'\''`)+"'")
	}
	return strings.Join(append(words, test.Package), " ")
}

// sum prints what came of the parts, and fails if one of them failed or has left nothing.
func sum(_ context.Context, o options, out io.Writer) error {
	var total results
	var problems []error
	fmt.Fprintln(out, "\nsummary")
	for _, part := range o.command {
		one, err := readResults(o.results, part)
		if err != nil {
			fmt.Fprintf(out, "%10s  %s: did not run\n", "", part)
			problems = append(problems, fmt.Errorf("%s did not run: %w", part, err))
			continue
		}
		said := fmt.Sprintf("%d passed, %d failed, %d skipped", one.Passed, len(one.Failed), one.Skipped)
		if one.Problem != "" {
			problems = append(problems, fmt.Errorf("%s failed", part))
			said += ": " + strings.ReplaceAll(one.Problem, "\n", "\n            ")
		}
		fmt.Fprintf(out, "%10s  %s: %s\n", one.Took.Round(time.Second), part, said)
		total.Passed += one.Passed
		total.Skipped += one.Skipped
		total.Rounds += one.Rounds
		total.Repeated += one.Repeated
		total.Failed = append(total.Failed, one.Failed...)
		total.Took += one.Took
		total.Pace = max(total.Pace, one.Pace)
	}
	fmt.Fprintf(out, "%10s  pace %.1f, repeated rounds %d of %d\n", total.Took.Round(time.Second), total.Pace, total.Repeated, total.Rounds)
	if len(total.Failed) > 0 {
		fmt.Fprintf(out, "\nto repeat what failed:\n  %s\n", strings.Join(total.Failed, "\n  "))
	}
	fmt.Fprintf(out, "\n%d passed, %d failed, %d skipped\n", total.Passed, len(total.Failed), total.Skipped)
	return errors.Join(problems...)
}

func readResults(dir, part string) (r results, err error) {
	text, err := os.ReadFile(file(dir, part))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}
