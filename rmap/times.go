package rmap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// peekMany looks at entries, as many at once as an answer takes; one that is not there has
// no value.
func (m *handle[K, V]) peekMany(ctx context.Context, p peeker, texts []string, whole bool) ([]peeked, error) {
	return reading(ctx, m.h, func() (all []peeked, err error) {
		if !whole {
			return peekTimes(ctx, p, texts)
		}
		s := m.sender()
		_, err = s.readSome(ctx, texts, mostAtOnce, func(some []string) ([]value, error) {
			got, err := p.peek(ctx, some, true)
			all = append(all, got...)
			vs := make([]value, len(got))
			for i := range got {
				vs[i] = got[i].value
			}
			return vs, err
		})
		return all, err
	})
}

func (m *handle[K, V]) peek(ctx context.Context, p peeker, k K) (e Timed[K, V], there bool, err error) {
	key, err := m.encodeKey(ctx, k)
	if err != nil {
		return e, false, m.failedAt("look at", key, err)
	}
	got, err := m.peekMany(ctx, p, []string{key}, true)
	if err != nil || !got[0].there {
		return e, false, m.failedAt("look at", key, err)
	}
	e.Key, e.TTL, e.Idle = k, got[0].ttl, got[0].idle
	e.Value, _, err = m.decode(key, got[0].value)
	return e, true, m.failedAt("look at", key, err)
}

func (m *handle[K, V]) peekAll(ctx context.Context, p peeker, ks []K) (map[K]Timed[K, V], error) {
	texts, err := m.keyTexts(ctx, ks)
	var got []peeked
	if err == nil {
		got, err = m.peekMany(ctx, p, texts, true)
	}
	if err != nil {
		return nil, m.failed("look at entries of", err)
	}
	all := make(map[K]Timed[K, V], len(ks))
	var undecoded []error
	for i, one := range got {
		v, there, err := m.decode(texts[i], one.value)
		switch {
		case err != nil:
			undecoded = append(undecoded, err)
		case there:
			all[ks[i]] = Timed[K, V]{Entry[K, V]{ks[i], v}, one.ttl, one.idle}
		}
	}
	return all, m.failed("look at entries of", errors.Join(undecoded...))
}

func (m *handle[K, V]) ttlMany(ctx context.Context, p peeker, ks []K) (map[K]time.Duration, error) {
	texts, err := m.keyTexts(ctx, ks)
	var got []peeked
	if err == nil {
		got, err = m.peekMany(ctx, p, texts, false)
	}
	if err != nil {
		return nil, m.failed("look at entries of", err)
	}
	all := make(map[K]time.Duration, len(ks))
	for i, one := range got {
		if one.there {
			all[ks[i]] = one.ttl // or what it has by its idle time; -1: it has no end
			if one.ttl < 0 || one.idle >= 0 && one.idle < one.ttl {
				all[ks[i]] = one.idle
			}
		}
	}
	return all, nil
}

// ExpireIf says which entries ExpireEntries is about.
type ExpireIf int

const (
	// IfNotSet is those that have no time to live.
	IfNotSet ExpireIf = iota + 1
	// IfGreater is those that end earlier than they would then.
	IfGreater
	// IfLess is those that end later, or have no time to live.
	IfLess
)

// wordOf returns the condition as HPEXPIRE takes it.
func wordOf(when []ExpireIf) (string, error) {
	switch {
	case len(when) == 0:
		return "", nil
	case len(when) > 1:
		return "", fmt.Errorf("%w: %d conditions at once", ErrInvalidArgument, len(when))
	}
	word, known := map[ExpireIf]string{IfNotSet: "NX", IfGreater: "GT", IfLess: "LT"}[when[0]]
	if !known {
		return "", fmt.Errorf("%w: condition %d is none of IfNotSet, IfGreater, IfLess", ErrInvalidArgument, when[0])
	}
	return word, nil
}

// expireEntries gives entries an end in d; 0: none.
func (m *handle[K, V]) expireEntries(ctx context.Context, p peeker, op string, ks []K, d time.Duration, when []ExpireIf) (n int64, err error) {
	word, err := wordOf(when)
	var texts []string
	if err == nil {
		texts, err = m.keyTexts(ctx, ks)
	}
	slices.Sort(texts)
	texts = slices.Compact(texts) // each counts once
	for some := range slices.Chunk(texts, mostAtOnce) {
		if err != nil {
			break
		}
		var did int64
		did, err = writing(ctx, m.h, func() (int64, error) { return p.expireEntries(ctx, some, d, word) })
		n += did
	}
	return n, m.failed(op, err)
}
