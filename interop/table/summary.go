package main

import (
	"io"
	"slices"
	"strings"
)

// summary prints, as the events come, what go test prints without -json: one line for each package, and
// whatever a failed or a skipped test has said.
type summary struct {
	out  io.Writer
	said map[testKey][]string
}

func (s *summary) add(e event) {
	key := testKey{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		s.print(e.Output)
	case "output":
		s.hear(key, e.Output)
	case "pass":
		delete(s.said, key)
	case "skip", "fail":
		s.tell(key)
		if e.Test == "" {
			s.unfinished(e.Package)
		}
	}
}

func (s *summary) hear(key testKey, line string) {
	switch {
	case key.name != "":
		if s.said == nil {
			s.said = make(map[testKey][]string)
		}
		s.said[key] = append(s.said[key], line)
	case line != "PASS\n":
		s.print(line)
	}
}

// tell leaves out the lines that only -v prints, and -json implies.
func (s *summary) tell(key testKey) {
	for _, line := range s.said[key] {
		if !strings.HasPrefix(line, "=== ") {
			s.print(line)
		}
	}
	delete(s.said, key)
}

// unfinished tells what was said by tests that were cut short, by a panic or a timeout.
func (s *summary) unfinished(pkg string) {
	var keys []testKey
	for key := range s.said {
		if key.pkg == pkg {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b testKey) int { return strings.Compare(a.name, b.name) })
	for _, key := range keys {
		s.tell(key)
	}
}

func (s *summary) print(text string) { io.WriteString(s.out, text) }
