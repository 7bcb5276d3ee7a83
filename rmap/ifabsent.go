package rmap

import (
	"context"
	"fmt"
	"iter"
)

// computeIfAbsent reads, and only where there is nothing takes a turn of the entry.
func (m *handle[K, V]) computeIfAbsent(ctx context.Context, k K, f func() (V, error), opts []PutOption) (now V, stored bool, err error) {
	if f == nil {
		return now, false, m.failed("compute if absent", fmt.Errorf("%w: nil function", ErrOption))
	}
	if _, err = m.lifetime(opts); err != nil {
		return now, false, m.failed("compute if absent", err)
	}
	now, there, err := m.get(ctx, k)
	if err != nil || there {
		return now, false, err
	}
	made := false
	now, _, err = m.compute(ctx, k, func(old V, had bool) (V, Verdict, error) {
		if made = !had; had {
			return old, Keep, nil
		}
		v, err := f()
		return v, Store, err
	}, opts)
	return now, err == nil && made, err
}

// walkValues returns all without the keys.
func (m *handle[K, V]) walkValues(ctx context.Context, opts []ScanOption) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		for e, err := range m.all(ctx, opts) {
			if !yield(e.Value, err) {
				return
			}
		}
	}
}
