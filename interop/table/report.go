package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// status of a test, worst last.
type status int

const (
	skipped status = iota
	passed
	cutShort // started, and no end was reported: a panic or a timeout
	failed
)

// event is a line of go test -json; the other fields do not matter here.
type event struct {
	Action  string
	Package string
	Test    string
}

// testKey is a test of a package: two packages may have tests of the same name.
type testKey struct{ pkg, name string }

type report struct {
	tests    map[testKey]status
	packages []string // that failed
}

// read ignores lines that are no events, since tools print beside them.
func read(r io.Reader) (*report, error) {
	rep := &report{tests: make(map[testKey]status)}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil {
			rep.add(e)
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
	if e.Test == "" {
		if e.Action == "fail" {
			rep.packages = append(rep.packages, e.Package)
		}
		return
	}
	key := testKey{e.Package, e.Test}
	switch e.Action {
	case "run":
		rep.tests[key] = max(rep.tests[key], cutShort)
	case "pass":
		rep.end(key, passed)
	case "skip":
		rep.end(key, skipped)
	case "fail":
		rep.end(key, failed)
	}
}

// end keeps a failure of an earlier run of the same test (go test -count).
func (rep *report) end(key testKey, s status) {
	if rep.tests[key] == failed {
		return
	}
	rep.tests[key] = s
}

// problem is the error for the exit code.
func (rep *report) problem() error {
	var all []error
	for key, s := range rep.tests {
		if s >= cutShort {
			all = append(all, fmt.Errorf("failed: %s %s", key.pkg, key.name))
		}
		if isInterop(key.name) && !rep.isParent(key) {
			if _, ok := parseName(key.name); !ok {
				all = append(all, fmt.Errorf("not named for the table: %s %s", key.pkg, key.name))
			}
		}
	}
	for _, pkg := range rep.packages {
		all = append(all, fmt.Errorf("failed: %s", pkg))
	}
	slices.SortFunc(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(all...)
}

func (rep *report) isParent(key testKey) bool {
	for other := range rep.tests {
		if other.pkg == key.pkg && strings.HasPrefix(other.name, key.name+"/") {
			return true
		}
	}
	return false
}
