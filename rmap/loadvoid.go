package rmap

import (
	"context"
	"slices"
)

// changes comes before a write of entries. Where loads go on beside an entry that
// is there, it voids them: a write of the same value would not be seen.
func (l *Loading[K, V]) changes(ctx context.Context, op string, ks ...K) error {
	if l.bad != nil {
		return l.failed(op, l.bad)
	}
	if l.cfg.beta == 0 || !l.voids || ctx == nil {
		return nil
	}
	return l.failed(op, l.void(ctx, ks...))
}

// removes comes before a removal of entries: what is loaded meanwhile must not be
// written. What begins to be loaded behind that is not older than the call.
func (l *Loading[K, V]) removes(ctx context.Context, op string, ks ...K) error {
	if l.bad != nil {
		return l.failed(op, l.bad)
	}
	if !l.voids || ctx == nil || len(ks) == 0 {
		return nil
	}
	return l.failed(op, l.void(ctx, ks...))
}

func (l *Loading[K, V]) void(ctx context.Context, ks ...K) error {
	texts, err := l.h.keyTexts(ctx, ks)
	if err != nil {
		return err
	}
	at := make(map[string][]string) // by the hash
	for _, text := range texts {
		home := l.h.home(text)
		at[home] = append(at[home], text)
	}
	for _, texts := range at {
		for some := range slices.Chunk(texts, mostInOne) {
			_, err = reading(ctx, l.h.h, func() (struct{}, error) { return struct{}{}, l.h.leasesOf(some[0]).void(ctx, some) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}
