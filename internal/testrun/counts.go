package main

import (
	"fmt"

	"github.com/rueidisson/rueidisson/internal/testrun/gotest"
)

// count is how much of something a test of a soak did, as package redistest words it.
type count struct {
	test gotest.Test
	said string
}

func (r *report) count(e gotest.Event) {
	if e.Key == "soak" {
		r.counts = append(r.counts, count{e.Of(), e.Value})
	}
}

func (r *report) counted() {
	if len(r.counts) > 0 {
		r.print("\nfull counts\n")
	}
	for _, c := range r.counts {
		r.print(fmt.Sprintf("%8.2fs  %s: %s\n", r.took[c.test], label(c.test), c.said))
	}
}
