package rmap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// peekMany looks at entries, as many at once as an answer takes; one that is not there has
// no value.
func (m *handle[K, V]) peekMany(ctx context.Context, p mapstore.Peeker, texts []string, whole bool) ([]mapstore.Peeked, error) {
	return mapstore.Reading(ctx, m.Hub, func() (all []mapstore.Peeked, err error) {
		if !whole {
			return mapstore.PeekTimes(ctx, p, texts)
		}
		s := m.Sender()
		_, err = s.ReadSome(ctx, texts, mapstore.MostAtOnce, func(some []string) ([]mapstore.Value, error) {
			got, err := p.Peek(ctx, some, true)
			all = append(all, got...)
			vs := make([]mapstore.Value, len(got))
			for i := range got {
				vs[i] = got[i].Value
			}
			return vs, err
		})
		return all, err
	})
}

func (m *handle[K, V]) peek(ctx context.Context, p mapstore.Peeker, k K) (e Timed[K, V], there bool, err error) {
	key, err := m.EncodeKey(ctx, k)
	if err != nil {
		return e, false, m.FailedAt("look at", key, err)
	}
	got, err := m.peekMany(ctx, p, []string{key}, true)
	if err != nil || !got[0].There {
		return e, false, m.FailedAt("look at", key, err)
	}
	e.Key, e.TTL, e.Idle = k, got[0].TTL, got[0].Idle
	e.Value, _, err = m.Decode(key, got[0].Value)
	return e, true, m.FailedAt("look at", key, err)
}

func (m *handle[K, V]) peekAll(ctx context.Context, p mapstore.Peeker, ks []K) (map[K]Timed[K, V], error) {
	texts, err := m.KeyTexts(ctx, ks)
	var got []mapstore.Peeked
	if err == nil {
		got, err = m.peekMany(ctx, p, texts, true)
	}
	if err != nil {
		return nil, m.Failed("look at entries of", err)
	}
	all := make(map[K]Timed[K, V], len(ks))
	var undecoded []error
	for i, one := range got {
		v, there, err := m.Decode(texts[i], one.Value)
		switch {
		case err != nil:
			undecoded = append(undecoded, err)
		case there:
			all[ks[i]] = Timed[K, V]{Entry[K, V]{ks[i], v}, one.TTL, one.Idle}
		}
	}
	return all, m.Failed("look at entries of", errors.Join(undecoded...))
}

func (m *handle[K, V]) ttlMany(ctx context.Context, p mapstore.Peeker, ks []K) (map[K]time.Duration, error) {
	texts, err := m.KeyTexts(ctx, ks)
	var got []mapstore.Peeked
	if err == nil {
		got, err = m.peekMany(ctx, p, texts, false)
	}
	if err != nil {
		return nil, m.Failed("look at entries of", err)
	}
	all := make(map[K]time.Duration, len(ks))
	for i, one := range got {
		if one.There {
			all[ks[i]] = one.TTL // or what it has by its idle time; -1: it has no end
			if one.TTL < 0 || one.Idle >= 0 && one.Idle < one.TTL {
				all[ks[i]] = one.Idle
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
func (m *handle[K, V]) expireEntries(ctx context.Context, p mapstore.Peeker, op string, ks []K, d time.Duration, when []ExpireIf) (n int64, err error) {
	word, err := wordOf(when)
	var texts []string
	if err == nil {
		texts, err = m.KeyTexts(ctx, ks)
	}
	slices.Sort(texts)
	texts = slices.Compact(texts) // each counts once
	for some := range slices.Chunk(texts, mapstore.MostAtOnce) {
		if err != nil {
			break
		}
		var did int64
		did, err = mapstore.Writing(ctx, m.Hub, func() (int64, error) { return p.ExpireEntries(ctx, some, d, word) })
		n += did
	}
	return n, m.Failed(op, err)
}
