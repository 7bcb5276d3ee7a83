package mapstore

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
	PeekScript          = scripts.Must(Lua, "lua/peek.lua")
	ExpireEntriesScript = scripts.Must(Lua, "lua/expire_entries.lua")
)

// Peeked is an entry that was looked at, with how long it stays; -1: it has no end.
type Peeked struct {
	Value
	TTL, Idle time.Duration
}

// Peeker is a store whose entries have times, which can be read without a use of them.
type Peeker interface {
	// Peek is about as many keys as one call takes. Without values they are empty.
	Peek(ctx context.Context, keys []string, values bool) ([]Peeked, error)
	// ExpireEntries changes ends; when is one of HPEXPIRE's words.
	ExpireEntries(ctx context.Context, keys []string, d time.Duration, when string) (int64, error)
}

func (p *Plain) Peek(ctx context.Context, keys []string, values bool) ([]Peeked, error) {
	return peeks(keys, p.Read, func(parts []rueidis.RedisMessage) (one Peeked, err error) {
		ms, err := parts[1].AsInt64()
		one.TTL, one.Idle = max(time.Duration(ms)*time.Millisecond, -1), -1
		return one, err
	}, ctx, p.peeking(readPeek, keys, values), Flag(values))
}

func (c *Cached) Peek(ctx context.Context, keys []string, values bool) ([]Peeked, error) {
	now := c.Hub.Engine.Wall()
	send := func(ctx context.Context, script send.Operation, args ...string) (send.Answer, error) {
		return c.Hub.Engine.Run(ctx, script, []string{c.Names.Hash, c.Names.Times, c.Names.Rests}, args)
	}
	all, err := peeks(keys, send, func(parts []rueidis.RedisMessage) (one Peeked, err error) {
		ends, err := parts[1].ToString()
		if err != nil {
			return one, err
		}
		rests, err := parts[2].ToString()
		one.TTL, one.Idle = until(ends, now), until(rests, now)
		return one, err
	}, ctx, c.peeking(readPeekCached, keys, values), Flag(values), Decimal(now))
	for i := range all {
		if values {
			all[i].Value = opened(all[i].Value)
		}
	}
	return all, err
}

// peeking returns op with an answer as long as the values of these keys are expected to be.
func (s *Sender) peeking(op send.Operation, keys []string, values bool) send.Operation {
	if !values {
		return op
	}
	return send.Expect(op, s.expects(len(keys)))
}

// peeks sends a script that answers with an array for each key: the value, and times.
func peeks(keys []string, send func(ctx context.Context, op send.Operation, args ...string) (send.Answer, error),
	times func(parts []rueidis.RedisMessage) (Peeked, error), ctx context.Context, script send.Operation, first ...string) ([]Peeked, error) {
	got, err := send(ctx, script, append(first, keys...)...)
	if err != nil {
		return nil, err
	}
	each, err := got.ToArray()
	if err != nil {
		return nil, err
	}
	all := make([]Peeked, len(each))
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
		if all[i].Value, err = element(&parts[0]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// PeekTimes looks at the times of entries.
func PeekTimes(ctx context.Context, p Peeker, texts []string) (all []Peeked, err error) {
	for some := range slices.Chunk(texts, MostAtOnce) {
		got, err := p.Peek(ctx, some, false)
		if err != nil {
			return nil, err
		}
		all = append(all, got...)
	}
	return all, nil
}

func (p *Plain) ExpireEntries(ctx context.Context, keys []string, d time.Duration, when string) (int64, error) {
	ttl := Lifetime{TTL: d}.text()
	args := append([]string{ttl, when, Decimal(int64(4 + len(keys)))}, keys...)
	return send.Number(p.leasing(ctx, ExpireEntriesScript, ttl, keys, 1, p.tell(args, keys, 1)...))
}

func (c *Cached) ExpireEntries(ctx context.Context, keys []string, d time.Duration, when string) (int64, error) {
	now, l := c.Hub.Engine.Wall(), Lifetime{TTL: d}
	args := append([]string{Decimal(now), c.publish(keys, 1), l.life().Ends(now), when}, keys...)
	n, err := send.Number(c.Write(ctx, mapcache.ExpireEntries, []string{c.Names.Hash, c.Names.Times, c.Names.Rests}, args...))
	c.expect(l, now, err)
	return n, err
}
