package rmap

import (
	"context"
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
