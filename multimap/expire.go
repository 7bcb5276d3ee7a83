package multimap

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/fieldttl"
	"github.com/rueidisson/rueidisson/internal/hashscan"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/sweep"
)

// Expire has k end in d, with all values that it has then, and reports whether it
// is there. A key that is removed, or has ended, and is put anew has no end. It is
// counted by the clients' clocks, as in Redisson, and swept by the clients that
// have called this, at most a second and a round trip later; with
// [WithNativeExpiry] the server does both. A plain RMultimap of Java pays no
// attention to the former.
//
// Cost: one script call. Errors: as Put; with WithNativeExpiry on an older server one that wraps
// [errors.ErrUnsupported]. Source: RMultimapCache.expireKey.
func (m *multi[K, V]) Expire(ctx context.Context, k K, d time.Duration) (bool, error) {
	return m.expire(ctx, "expire", k, d)
}

// Persist has k stay, and reports whether it is there. Cost: one script call. Errors: as Expire.
func (m *multi[K, V]) Persist(ctx context.Context, k K) (bool, error) {
	return m.expire(ctx, "persist", k, 0)
}

func (m *multi[K, V]) expire(ctx context.Context, op string, k K, d time.Duration) (there bool, err error) {
	key, err := m.encodeKey(ctx, k)
	ms, native := "", flag(m.cfg.native)
	if err == nil && op == "expire" {
		err, ms = send.CheckTTL("time to live", d), decimal(core.Millis(d))
	}
	if err == nil && m.cfg.native {
		err = fieldttl.Of(m.e).Check(ctx, m.names.index)
	}
	if err == nil {
		there, err = send.Writing(m.e.Sender, ctx, func() (bool, error) {
			there, err := send.Yes(m.write(ctx, expireScript, key, ms, native))
			if (there || errors.Is(err, ErrOutcomeUnknown)) && ms != "" && !m.cfg.native {
				sweep.Of(m.e).Expect(core.Key{Kind: m.kind, Name: m.names.index}, m.e.Wall()+core.Millis(d), func(known sweep.Target) sweep.Target {
					if known == nil {
						known = expiring{m.names, m.e}
					}
					return known
				})
			}
			return there, err
		})
	}
	return there, m.failedAt(op, key, err)
}

// mostSwept is how many keys of a multimap go at once.
const mostSwept = 200

// expiring is a multimap with keys that clients keep the time of.
type expiring struct {
	names
	e *locking.Engine
}

// Visit drops some of the keys that have ended.
func (x expiring) Visit() sweep.Visit {
	began := time.Now()
	v := x.sweep(x.e)
	v.Cache, v.Took = x.index, time.Since(began)
	return v
}

// sweep drops keys that have ended. There is no latch, as Redisson has none here: a sweeper that finds nothing to do
// has looked at one sorted set.
func (n names) sweep(e *locking.Engine) (v sweep.Visit) {
	ctx, now := context.Background(), decimal(e.Wall())
	texts, err := send.Texts(e.Run(ctx, endedScript, []string{n.ends}, []string{now, strconv.Itoa(mostSwept)}))
	if err != nil {
		v.Err = err
		return v
	}
	if v.Next, v.Err = sweep.Due(texts[0]); v.Err != nil {
		return v
	}
	if fields := texts[1:]; len(fields) > 0 {
		v.More = len(fields) == mostSwept
		v.Expired, v.Err = send.Number(e.Run(ctx, dropScript, n.of(fields...), append([]string{"0", now, n.kind, "ended"}, fields...)))
	}
	return v
}

// TTL returns how long k has until it ends: 0 if there is none, -1 if it has no end.
//
// Cost: one script call. Errors: as Count.
func (m *multi[K, V]) TTL(ctx context.Context, k K) (left time.Duration, err error) {
	key, err := m.encodeKey(ctx, k)
	if err == nil && m.cfg.native {
		err = fieldttl.Of(m.e).Check(ctx, m.names.index)
	}
	if err == nil {
		left, err = send.Reading(m.e.Sender, ctx, func() (time.Duration, error) {
			return send.Remainder(send.Number(m.look(ctx, ttlScript, []string{key}, flag(m.cfg.native))))
		})
	}
	return left, m.failedAt("look at", key, err)
}

// ExpireAll has the whole multimap expire in d, with all that is written until then, and reports
// whether there is one. If it takes longer than d to set the time of all its keys, the multimap
// expires after that. The values of a key that is put at that moment may stay a second longer,
// where only Redisson finds them. With [WithNativeExpiry] values expire with their key, if that
// expires before. Cost: two script calls, and HSCAN and one more for each 1,000 keys, and all that
// twice where d is below a minute. Errors: as Put; after one, call it again, or values of keys that
// have expired take up memory. Source: RMultimap.expire.
func (m *multi[K, V]) ExpireAll(ctx context.Context, d time.Duration) (there bool, err error) {
	if err = send.CheckTTL("time to live", d); err == nil {
		until := m.e.Mono() + d
		there, err = m.setTimes(ctx, func() time.Duration { return until - m.e.Mono() })
	}
	return there, m.failed("expire", err)
}

// PersistAll lets the whole multimap stay, and reports whether it was to go; keys
// end when they would have. Cost and errors: as ExpireAll. Source:
// RMultimap.clearExpire.
func (m *multi[K, V]) PersistAll(ctx context.Context) (had bool, err error) {
	had, err = m.setTimes(ctx, nil)
	return had, m.failed("persist", err)
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
	return decimal(core.Millis(max(end(), d)))
}

// setTimes sets the time of the hash first, because a writer of a key takes its time from there.
// It goes through the keys also if the hash is already permanent: an earlier call may have
// failed after it.
func (m *multi[K, V]) setTimes(ctx context.Context, end endOf) (did bool, err error) {
	// The first fields tell a hash that is no multimap.
	p, err := m.page(ctx, hashscan.Ask{Config: hashscan.Config{Page: 10}, Cursor: "0", Count: 10})
	if err == nil {
		_, err = ownFields(p.Texts)
	}
	if err != nil {
		return false, err
	}
	if did, err = m.setTime(ctx, end.least(grace)); err != nil || !did && end != nil {
		return did, err
	}
	more, err := m.setTimesOfAll(ctx, end, grace)
	if did = did || more; err != nil || end == nil {
		return did, err
	}
	if end() < grace {
		if _, err = m.setTime(ctx, end.least(brief)); err == nil {
			_, err = m.setTimesOfAll(ctx, end, brief)
		}
	}
	if err == nil {
		_, err = m.setTime(ctx, end.least(time.Millisecond))
	}
	return did, err
}

// setTimesOfAll walks the keys, and has the hash stay for so long at least.
func (m *multi[K, V]) setTimesOfAll(ctx context.Context, end endOf, least time.Duration) (did bool, err error) {
	for fields, err := range m.fields(ctx, nil) {
		var more bool
		if err == nil {
			args := append([]string{end.least(least), end.least(time.Millisecond), flag(m.cfg.native)}, fields...)
			more, err = send.Writing(m.e.Sender, ctx, func() (bool, error) {
				return send.Yes(m.send(ctx, expireAllScript, m.names.of(fields...), args...))
			})
		}
		if err != nil {
			return did, err
		}
		did = did || more
	}
	return did, nil
}

// setTime sets the time of what all keys have in common.
func (m *multi[K, V]) setTime(ctx context.Context, ms string) (bool, error) {
	return send.Writing(m.e.Sender, ctx, func() (bool, error) {
		return send.Yes(m.send(ctx, expireWholeScript, m.names.of(), ms))
	})
}
