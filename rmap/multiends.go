package rmap

import (
	"context"
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/multimap"
)

func (g *multi[K, V]) expire(ctx context.Context, op string, k K, d time.Duration) (there bool, err error) {
	key, err := g.m.encodeKey(ctx, k)
	ms, native := "", flag(g.m.cfg.native)
	if err == nil && op == "expire" {
		err, ms = send.CheckTTL("time to live", d), decimal(core.Millis(d))
	}
	if err == nil && g.m.cfg.native {
		err = g.m.h.fieldsExpire(ctx, g.m.key)
	}
	if err == nil {
		there, err = writing(ctx, g.m.h, func() (bool, error) {
			there, err := send.Yes(g.write(ctx, multimap.Expire, key, ms, native))
			if (there || errors.Is(err, ErrUnknown)) && ms != "" && !g.m.cfg.native {
				g.sweepAt(g.m.h.e.Wall() + core.Millis(d))
			}
			return there, err
		})
	}
	return there, g.m.failedAt(op, key, err)
}

// A multimap stays for so long at least while its keys are given their times: where
// the hash has gone, nobody finds the values. Those of a key that is put meanwhile
// stay as long, and so are told again, in a second that is the last.
const (
	grace = time.Minute
	brief = time.Second
)

// endOf is in how long a multimap goes; nil: never.
type endOf func() time.Duration

// least returns that in ms, at least in so long; empty: never.
func (end endOf) least(d time.Duration) string {
	if end == nil {
		return ""
	}
	return millis(max(end(), d))
}

func (g *multi[K, V]) expireAll(ctx context.Context, d time.Duration) (there bool, err error) {
	if err = send.CheckTTL("time to live", d); err == nil {
		until := g.m.h.e.Mono() + d
		there, err = g.setTimes(ctx, func() time.Duration { return until - g.m.h.e.Mono() })
	}
	return there, g.m.failed("expire", err)
}

func (g *multi[K, V]) persistAll(ctx context.Context) (had bool, err error) {
	had, err = g.setTimes(ctx, nil)
	return had, g.m.failed("persist", err)
}

// setTimes has the hash go first, as who writes a key takes its time from there. It
// goes through the keys also where that is to stay already: an earlier call may have
// failed behind it.
func (g *multi[K, V]) setTimes(ctx context.Context, end endOf) (did bool, err error) {
	if err = g.check(ctx); err != nil {
		return false, err
	}
	if did, err = g.setTime(ctx, end.least(grace)); err != nil || !did && end != nil {
		return did, err
	}
	more, err := g.setTimesOfAll(ctx, end, grace)
	if did = did || more; err != nil || end == nil {
		return did, err
	}
	if end() < grace {
		if _, err = g.setTime(ctx, end.least(brief)); err == nil {
			_, err = g.setTimesOfAll(ctx, end, brief)
		}
	}
	if err == nil {
		_, err = g.setTime(ctx, end.least(time.Millisecond))
	}
	return did, err
}

// setTimesOfAll walks the keys, and has the hash stay for so long at least.
func (g *multi[K, V]) setTimesOfAll(ctx context.Context, end endOf, least time.Duration) (did bool, err error) {
	for fields, err := range g.fields(ctx, nil) {
		var more bool
		if err == nil {
			more, err = g.setTimesOf(ctx, fields, end.least(least), end.least(time.Millisecond))
		}
		if err != nil {
			return did, err
		}
		did = did || more
	}
	return did, nil
}

// setTime sets the time of what all keys have in common.
func (g *multi[K, V]) setTime(ctx context.Context, ms string) (bool, error) {
	return writing(ctx, g.m.h, func() (bool, error) {
		return send.Yes(g.s.write(ctx, expireScript, g.names.of(), "2", ms))
	})
}

func (g *multi[K, V]) setTimesOf(ctx context.Context, fields []string, index, values string) (bool, error) {
	args := append([]string{index, values, flag(g.m.cfg.native)}, fields...)
	return writing(ctx, g.m.h, func() (bool, error) {
		return send.Yes(g.s.write(ctx, multimap.ExpireAll, g.names.of(fields...), args...))
	})
}
