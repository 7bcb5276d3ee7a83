package rmap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

var (
	peekScript          = scripts.Must(lua, "lua/peek.lua")
	expireEntriesScript = scripts.Must(lua, "lua/expire_entries.lua")
)

// peeked is an entry that was looked at, with how long it stays; -1: it has no end.
type peeked struct {
	value
	ttl, idle time.Duration
}

// peeker is a store whose entries have times, which can be read without a use of them.
type peeker interface {
	// peek is about as many keys as one call takes. Without values they are empty.
	peek(ctx context.Context, keys []string, values bool) ([]peeked, error)
	// expireEntries changes ends; when is one of HPEXPIRE's words.
	expireEntries(ctx context.Context, keys []string, d time.Duration, when string) (int64, error)
}

func (p *plain) peek(ctx context.Context, keys []string, values bool) ([]peeked, error) {
	return peeks(keys, p.read, func(parts []rueidis.RedisMessage) (one peeked, err error) {
		ms, err := parts[1].AsInt64()
		one.ttl, one.idle = max(time.Duration(ms)*time.Millisecond, -1), -1
		return one, err
	}, ctx, p.peeking(readPeek, keys, values), flag(values))
}

func (c *cached) peek(ctx context.Context, keys []string, values bool) ([]peeked, error) {
	now := c.h.e.Wall()
	send := func(ctx context.Context, script send.Operation, args ...string) (send.Answer, error) {
		return c.h.e.Run(ctx, script, []string{c.n.Hash, c.n.Times, c.n.Rests}, args)
	}
	all, err := peeks(keys, send, func(parts []rueidis.RedisMessage) (one peeked, err error) {
		ends, err := parts[1].ToString()
		if err != nil {
			return one, err
		}
		rests, err := parts[2].ToString()
		one.ttl, one.idle = until(ends, now), until(rests, now)
		return one, err
	}, ctx, c.peeking(readPeekCached, keys, values), flag(values), decimal(now))
	for i := range all {
		if values {
			all[i].value = opened(all[i].value)
		}
	}
	return all, err
}

// peeking returns op with an answer as long as the values of these keys are expected to be.
func (s *sender) peeking(op send.Operation, keys []string, values bool) send.Operation {
	if !values {
		return op
	}
	return send.Expect(op, s.expects(len(keys)))
}

// peeks sends a script that answers with an array for each key: the value, and times.
func peeks(keys []string, send func(ctx context.Context, op send.Operation, args ...string) (send.Answer, error),
	times func(parts []rueidis.RedisMessage) (peeked, error), ctx context.Context, script send.Operation, first ...string) ([]peeked, error) {
	got, err := send(ctx, script, append(first, keys...)...)
	if err != nil {
		return nil, err
	}
	each, err := got.ToArray()
	if err != nil {
		return nil, err
	}
	all := make([]peeked, len(each))
	for i := range each {
		if each[i].IsNil() {
			continue
		}
		parts, err := each[i].ToArray()
		if err != nil {
			return nil, err
		}
		if all[i], err = times(parts); err != nil {
			return nil, err
		}
		if all[i].value, err = element(&parts[0]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

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

// peekTimes looks at the times of entries.
func peekTimes(ctx context.Context, p peeker, texts []string) (all []peeked, err error) {
	for some := range slices.Chunk(texts, mostAtOnce) {
		got, err := p.peek(ctx, some, false)
		if err != nil {
			return nil, err
		}
		all = append(all, got...)
	}
	return all, nil
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

func (p *plain) expireEntries(ctx context.Context, keys []string, d time.Duration, when string) (int64, error) {
	ttl := lifetime{ttl: d}.text()
	args := append([]string{ttl, when, decimal(int64(4 + len(keys)))}, keys...)
	return send.Number(p.leasing(ctx, expireEntriesScript, ttl, keys, 1, p.tell(args, keys, 1)...))
}

func (c *cached) expireEntries(ctx context.Context, keys []string, d time.Duration, when string) (int64, error) {
	now, l := c.h.e.Wall(), lifetime{ttl: d}
	args := append([]string{decimal(now), c.publish(keys, 1), l.life().Ends(now), when}, keys...)
	n, err := send.Number(c.write(ctx, mapcache.ExpireEntries, []string{c.n.Hash, c.n.Times, c.n.Rests}, args...))
	c.expect(l, now, err)
	return n, err
}
