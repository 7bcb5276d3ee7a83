package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rueidisson/rueidisson/internal/testrun/gotest"
)

// status of a test or a package, worst last.
type status int

const (
	skipped status = iota
	passed
	cutShort // started, and no end was reported: a panic or a timeout
	failed
)

type report struct {
	tests     map[gotest.Test]status
	packages  map[string]status
	footnotes map[gotest.Test]string
}

func read(r io.Reader) (*report, error) {
	rep := &report{tests: map[gotest.Test]status{}, packages: map[string]status{}, footnotes: map[gotest.Test]string{}}
	return rep, gotest.Read(r, rep.add)
}

func (rep *report) add(e gotest.Event) {
	key := e.Of()
	switch e.Action {
	case "start", "run":
		rep.note(key, cutShort)
	case "pass":
		rep.note(key, passed)
	case "skip":
		rep.note(key, skipped)
	case "fail":
		rep.note(key, failed)
	case "attr":
		if e.Key == "footnote" {
			rep.footnotes[key] = e.Value
		}
	}
}

func (rep *report) note(key gotest.Test, s status) {
	if key.Name == "" {
		rep.packages[key.Package] = s
		return
	}
	if rep.tests[key] != failed { // in an earlier run of the same test (go test -count)
		rep.tests[key] = s
	}
}

// problem returns the error for the exit code. A package that is skipped has no tests.
func (rep *report) problem() error {
	var all []error
	for key, s := range rep.tests {
		switch {
		case s >= cutShort:
			all = append(all, fmt.Errorf("failed: %s %s", key.Package, key.Name))
		case s == skipped:
			all = append(all, fmt.Errorf("skipped: %s %s", key.Package, key.Name))
		}
		if s == passed && isInterop(key.Name) && !rep.isParent(key) && !fits(key.Name) {
			all = append(all, fmt.Errorf("not named for the table: %s %s", key.Package, key.Name))
		}
	}
	for pkg, s := range rep.packages {
		if s >= cutShort {
			all = append(all, fmt.Errorf("failed: %s", pkg))
		}
	}
	slices.SortFunc(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(all...)
}

func (rep *report) isParent(key gotest.Test) bool {
	for other := range rep.tests {
		if other.Below(key) {
			return true
		}
	}
	return false
}
