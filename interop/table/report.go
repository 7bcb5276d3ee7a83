package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// status of a test or a package, worst last.
type status int

const (
	skipped status = iota
	passed
	cutShort // started, and no end was reported: a panic or a timeout
	failed
)

// event is a line of go test -json; the other fields do not matter here.
type event struct {
	Time       time.Time
	Action     string
	Package    string
	Test       string
	Output     string
	Key, Value string // of an attribute
}

// testKey is a test of a package: two packages may have tests of the same name. A package itself is the
// test without a name.
type testKey struct{ pkg, name string }

type report struct {
	tests        map[testKey]status
	packages     map[string]status
	footnotes    map[testKey]string
	began, ended time.Time
}

// read passes on lines that are no events, since tools print beside them.
func read(r io.Reader, told *summary) (*report, error) {
	rep := &report{tests: map[testKey]status{}, packages: map[string]status{}, footnotes: map[testKey]string{}}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil {
			rep.add(e)
			told.add(e)
		} else {
			told.print(string(line))
		}
		if errors.Is(err, io.EOF) {
			return rep, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (rep *report) add(e event) {
	rep.clock(e.Time)
	key := testKey{e.Package, e.Test}
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

func (rep *report) clock(now time.Time) {
	if now.IsZero() { // what the compiler says has no time
		return
	}
	if rep.began.IsZero() {
		rep.began = now
	}
	rep.ended = now
}

func (rep *report) note(key testKey, s status) {
	if key.name == "" {
		rep.packages[key.pkg] = s
		return
	}
	if rep.tests[key] != failed { // in an earlier run of the same test (go test -count)
		rep.tests[key] = s
	}
}

// problem is the error for the exit code. A package that is skipped has no tests.
func (rep *report) problem() error {
	var all []error
	for key, s := range rep.tests {
		switch {
		case s >= cutShort:
			all = append(all, fmt.Errorf("failed: %s %s", key.pkg, key.name))
		case s == skipped:
			all = append(all, fmt.Errorf("skipped: %s %s", key.pkg, key.name))
		}
		if s == passed && isInterop(key.name) && !rep.isParent(key) && !fits(key.name) {
			all = append(all, fmt.Errorf("not named for the table: %s %s", key.pkg, key.name))
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

// late is the error for a run that took longer than it may.
func (rep *report) late(limit time.Duration) error {
	took := rep.ended.Sub(rep.began)
	if limit == 0 || took <= limit {
		return nil
	}
	return fmt.Errorf("the run took %v, which is more than %v", took.Round(time.Second), limit)
}

func (rep *report) isParent(key testKey) bool {
	for other := range rep.tests {
		if other.pkg == key.pkg && strings.HasPrefix(other.name, key.name+"/") {
			return true
		}
	}
	return false
}
