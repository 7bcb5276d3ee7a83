package rmap

import (
	"context"
	"errors"
	"slices"
)

func (m *handle[K, V]) get(ctx context.Context, k K) (v V, there bool, err error) {
	key, err := m.encodeKey(ctx, k)
	var got value
	if err == nil {
		got, err = m.store.get(ctx, key)
	}
	if err == nil {
		v, there, err = m.decode(key, got)
	}
	return v, there, m.failedAt("get", key, err)
}

// mostInOne bounds what one command takes.
const mostInOne = 5000

// getMany reads in as many exchanges as it takes. What does not decode is left
// out, and told.
func (m *handle[K, V]) getMany(ctx context.Context, ks []K) (map[K]V, error) {
	texts, err := m.keyTexts(ctx, ks)
	if err != nil {
		return nil, m.failed("get many of", err)
	}
	found := make(map[K]V, len(ks))
	var undecoded []error
	for some := range slices.Chunk(texts, mostInOne) {
		got, err := reading(ctx, m.h, func() ([]value, error) { return m.store.getMany(ctx, some) })
		if err != nil {
			return nil, m.failed("get many of", err)
		}
		for i, one := range got {
			if v, there, err := m.decode(some[i], one); err != nil {
				undecoded = append(undecoded, err)
			} else if there {
				found[ks[i]] = v
			}
		}
		ks = ks[len(got):]
	}
	return found, m.failed("get many of", errors.Join(undecoded...))
}

// keyTexts returns keys as they are in Redis, if the handle can be used.
func (m *handle[K, V]) keyTexts(ctx context.Context, ks []K) ([]string, error) {
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	texts := make([]string, len(ks))
	for i, k := range ks {
		var err error
		if texts[i], err = m.keyText(k); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

func (m *handle[K, V]) has(ctx context.Context, k K) (there bool, err error) {
	key, err := m.encodeKey(ctx, k)
	if err == nil {
		there, err = reading(ctx, m.h, func() (bool, error) { return m.store.has(ctx, key) })
	}
	return there, m.failedAt("look for", key, err)
}

func (m *handle[K, V]) length(ctx context.Context) (n int64, err error) {
	if err = m.usable(ctx); err == nil {
		n, err = reading(ctx, m.h, func() (int64, error) { return m.store.length(ctx) })
	}
	return n, m.failed("count", err)
}
