// Package gotest reads what go test -json prints.
package gotest

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// Event is a line of go test -json, without the fields that nobody here asks for. See go doc test2json.
type Event struct {
	Action     string
	Package    string
	Test       string // empty for what is said of the whole package
	Elapsed    float64
	Output     string
	Key, Value string // of an attribute
}

// Test is a test of a package: two packages may have tests of the same name. A package itself is the test without a
// name.
type Test struct{ Package, Name string }

// Below returns whether t is a test of that package, or a subtest of that test.
func (t Test) Below(other Test) bool {
	return t != other && t.Package == other.Package && (other.Name == "" || strings.HasPrefix(t.Name, other.Name+"/"))
}

// Of returns the test, or the package, that the event is about.
func (e Event) Of() Test { return Test{e.Package, e.Test} }

// Read hands over each event, and passes over the other lines, since tools print among them. It returns at the end of r,
// or with the error that ended it.
func Read(r io.Reader, event func(Event)) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var e Event
		if json.Unmarshal(line, &e) == nil {
			event(e)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
