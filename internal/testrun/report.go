package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rueidisson/rueidisson/internal/testrun/gotest"
)

// report is what has been told of a run, and what is to be told at its end.
type report struct {
	out    io.Writer
	said   map[gotest.Test][]string // not told yet
	going  map[gotest.Test]bool     // started, and no end was reported
	took   map[gotest.Test]float64  // in seconds
	counts []count
	failed []gotest.Test

	passed, skipped  int
	rounds, repeated int // of tests that assert how long something took, see Within in package redistest
}

func newReport(out io.Writer) *report {
	return &report{out: out, said: map[gotest.Test][]string{}, going: map[gotest.Test]bool{}, took: map[gotest.Test]float64{}}
}

func (r *report) add(e gotest.Event) {
	switch e.Action {
	case "build-output":
		r.print(e.Output)
	case "start", "run":
		r.going[e.Of()] = true
	case "output":
		r.hear(e.Of(), e.Output)
	case "attr":
		r.count(e)
		r.round(e)
	case "pass", "skip", "fail":
		r.ended(e)
	}
}

func (r *report) ended(e gotest.Event) {
	delete(r.going, e.Of())
	r.took[e.Of()] += e.Elapsed
	switch {
	case e.Action == "fail":
		r.failed = append(r.failed, e.Of())
	case e.Test == "":
	case e.Action == "pass":
		r.passed++
	default:
		r.skipped++
	}
	switch {
	case e.Test == "":
		r.close(e)
	case e.Action != "pass":
		r.tell(e.Of())
	case r.onlyLogged(e.Of()):
		delete(r.said, e.Of())
	}
}

// close tells what was said by tests of the package that were cut short, by a panic or a timeout, and what was said
// beside tests that passed: the race detector prints where it is, and fails the test that it stops.
func (r *report) close(e gotest.Event) {
	for _, test := range sorted(maps.Keys(r.said)) {
		if test.Package != e.Package {
			continue
		}
		if e.Action == "fail" {
			r.tell(test)
		}
		delete(r.said, test)
	}
}

func (r *report) hear(test gotest.Test, line string) {
	switch {
	case test.Name != "":
		r.said[test] = append(r.said[test], line)
	case line != "PASS\n":
		r.print(line)
	}
}

// onlyLogged is false if there is output that did not come through the test, as that of a child process.
func (r *report) onlyLogged(test gotest.Test) bool {
	for _, line := range r.said[test] {
		if !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(strings.TrimLeft(line, " "), "--- ") && !strings.HasPrefix(line, "    ") {
			return false
		}
	}
	return true
}

// tell leaves out the lines that only -v prints, and -json implies.
func (r *report) tell(test gotest.Test) {
	for _, line := range r.said[test] {
		if !strings.HasPrefix(line, "=== ") {
			r.print(line)
		}
	}
	delete(r.said, test)
}

func (r *report) print(text string) { io.WriteString(r.out, text) }

// end tells what is to be told when no more events come.
func (r *report) end() {
	for _, test := range sorted(maps.Keys(r.going)) {
		r.tell(test)
	}
	r.slowest()
	r.counted()
}

// problem returns the error for the exit code.
func (r *report) problem() error {
	if len(r.took) == 0 && len(r.going) == 0 {
		return errors.New("no test has run")
	}
	var all []error
	for _, test := range r.failed {
		all = append(all, fmt.Errorf("failed: %s", label(test)))
	}
	for _, test := range sorted(maps.Keys(r.going)) {
		all = append(all, fmt.Errorf("cut short: %s", label(test)))
	}
	return errors.Join(all...)
}

func label(test gotest.Test) string { return strings.TrimSpace(test.Package + " " + test.Name) }

func sorted(tests func(func(gotest.Test) bool)) []gotest.Test {
	return slices.SortedFunc(tests, func(a, b gotest.Test) int { return strings.Compare(label(a), label(b)) })
}
