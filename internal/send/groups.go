package send

import (
	"maps"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// mostGroups is how many slots of a cluster are asked at the same time.
const mostGroups = 32

// BySlot calls do for the items of each slot of a cluster, and of all where there is none, with at most so many of them, until it
// has done with each: it returns with how many of them it has. Slots are asked at the same time. After an error do is not called for
// others.
func BySlot[T any](s *Sender, all []T, keyOf func(T) string, most int, do func(some []T) (n int, err error)) error {
	groups := [][]T{all}
	if s.Cluster() {
		of := map[uint16][]T{}
		for _, one := range all {
			slot := s.Topo.Slot(keyOf(one))
			of[slot] = append(of[slot], one)
		}
		groups = slices.Collect(maps.Values(of))
	}
	var failed atomic.Bool
	var together errgroup.Group
	together.SetLimit(mostGroups)
	for _, group := range groups {
		together.Go(func() error { // ends when all of the group is done, or with an error
			for len(group) > 0 && !failed.Load() {
				n, err := do(group[:min(len(group), most)])
				if err != nil {
					failed.Store(true)
					return err
				}
				group = group[n:]
			}
			return nil
		})
	}
	return together.Wait()
}
