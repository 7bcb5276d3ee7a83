package mapstore

import (
	"time"

	"golang.org/x/sync/errgroup"
)

// Heed is how long a loader has to return when its context has ended.
const Heed = 100 * time.Millisecond

// FewAtATime calls for each of n, for up to 16 at a time.
func FewAtATime(n int, call func(i int)) {
	var all errgroup.Group
	all.SetLimit(mostLoads)
	for i := range n {
		all.Go(func() error { // ends with the call
			call(i)
			return nil
		})
	}
	_ = all.Wait() // which is nil
}

// mostLoads is how many entries one GetMany loads at a time.
const mostLoads = 16
