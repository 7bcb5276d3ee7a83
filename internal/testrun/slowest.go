package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rueidisson/rueidisson/internal/testrun/gotest"
)

// shown is how many of the slowest are told.
const shown = 10

// slowest tells where the time went. Of tests with subtests only those are listed: the time of the others is a sum of
// them, or leaves those out that run beside each other.
func (r *report) slowest() {
	parents := map[gotest.Test]bool{}
	for test := range r.took {
		if i := strings.LastIndex(test.Name, "/"); i > 0 {
			parents[gotest.Test{Package: test.Package, Name: test.Name[:i]}] = true
		}
	}
	r.list("slowest packages", func(test gotest.Test) bool { return test.Name == "" })
	r.list("slowest tests", func(test gotest.Test) bool { return test.Name != "" && !parents[test] })
}

func (r *report) list(title string, of func(gotest.Test) bool) {
	var all []gotest.Test
	for test, seconds := range r.took {
		if of(test) && seconds > 0 {
			all = append(all, test)
		}
	}
	slices.SortFunc(all, func(a, b gotest.Test) int {
		return cmp.Or(cmp.Compare(r.took[b], r.took[a]), strings.Compare(label(a), label(b)))
	})
	if len(all) > 0 {
		r.print("\n" + title + "\n")
	}
	for _, test := range all[:min(shown, len(all))] {
		r.print(fmt.Sprintf("%8.2fs  %s\n", r.took[test], label(test)))
	}
}
