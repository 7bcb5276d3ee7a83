package set

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/feed"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/sweep"
)

const (
	// mostSwept is how many members go at once: the server does nothing else meanwhile.
	mostSwept = 1000
	// mostTold is how many go at once that are told of.
	mostTold = 200
)

// swept is one set with times to live.
type swept struct {
	h   *hub
	key string
}

func sweepKey(key string) core.Key { return core.Key{Kind: "set cache", Name: key} }

// target returns what is visited of a set.
func (h *hub) target(key string) func(known sweep.Target) sweep.Target {
	return func(known sweep.Target) sweep.Target {
		if known == nil {
			known = swept{h, key}
		}
		return known
	}
}

// expect has a set visited at that time, ms, see [sweep.Sweeper.Expect].
func (h *hub) expect(key string, at int64) { h.sweeps.Expect(sweepKey(key), at, h.target(key)) }

// expecting returns expect of a key.
func (h *hub) expecting(key string) func(at int64) { return func(at int64) { h.expect(key, at) } }

// Visit drops some of what has expired.
func (s swept) Visit() (v sweep.Visit) {
	began := time.Now()
	parts, err := s.sweep()
	v.Cache, v.Took = s.key, time.Since(began)
	if err != nil {
		v.Err = err
		return v
	}
	s.h.latch.Answered(&v, parts)
	return v
}

func (s swept) sweep() ([]rueidis.RedisMessage, error) {
	e, proves := s.h.e, "0"
	if !e.CountsAll() {
		proves = "1"
	}
	args := []string{e.ClientID, s.h.latch.Clock(), e.Publish(), keys.SetExpired(s.key), sweep.Kept,
		strconv.Itoa(mostSwept), strconv.Itoa(mostTold), proves, s.h.latch.MostAhead()}
	return arrayOf(e.Run(context.Background(), sweepScript, []string{s.key, keys.SweepLatch(s.key)}, args))
}

// arrayOf returns an answer that is an array of two parts at least.
func arrayOf(got send.Answer, err error) ([]rueidis.RedisMessage, error) {
	if err != nil {
		return nil, err
	}
	parts, err := got.ToArray()
	if err == nil && len(parts) < 2 {
		err = fmt.Errorf("an answer of %d parts", len(parts))
	}
	return parts, err
}

// Expired yields members that have expired and were swept, by Go or Java. The subscription exists when Expired returns. It ends
// with ctx, or when the loop is left. There is one loop over them.
//
// A member is told at most once, in the order of the sweeps. One that is removed, or lives longer by another Add before
// it is swept, is not told. Delete and Expire of the whole set tell of none. Redisson before 4.7 sweeps without telling.
//
// Some errors are notices: they wrap rueidisson.ErrNotice, and the loop continues. Any other error is the last. The notices are:
//
//   - [ErrDisconnected] when the connection is lost;
//   - [ErrReconnected] when it is back, followed by [ErrMissed];
//   - [ErrMissed] if the loop is too slow: 10,000 members wait for it at most, or as many as have 32 MB;
//   - [ErrDecode] for a member that does not decode.
//
// While it has a subscriber, this process sweeps the set at least every second: a member is told within a second after the
// expiry, and a round trip. Where Java sweeps it, too, only one of both sweeps at a time. After a sweep of Java no other process may sweep for
// the next 5 to 30 seconds.
//
// Cost: a subscription. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's. Source:
// RSetCache.addListener.
func (c *Cache[T]) Expired(ctx context.Context) iter.Seq2[T, error] {
	err := c.b.Usable(ctx)
	var f *feed.Feed[struct{}]
	if err == nil {
		f, err = c.listen(ctx)
	}
	return func(yield func(T, error) bool) {
		if f != nil {
			defer f.Close()
		}
		for err == nil {
			var got feed.Heard[struct{}]
			if got, err = f.Next(ctx); err == feed.ErrLeft {
				return
			} else if err != nil {
				break
			}
			v, notice := c.heard(got)
			if !yield(v, core.Notice(c.b.Failed("listen to", notice))) {
				return
			}
		}
		var none T
		yield(none, c.b.Failed("listen to", err))
	}
}

// listen subscribes, and has the set swept meanwhile.
func (c *Cache[T]) listen(ctx context.Context) (*feed.Feed[struct{}], error) {
	e := c.b.Engine
	f := feed.New[struct{}](ctx, e)
	err := f.Subscribe(ctx, struct{}{}, keys.SetExpired(c.b.Key), func(gap bool) {
		what := "expired"
		if gap {
			what = "gap"
		}
		if e.Caches != nil {
			e.Caches.Heard(context.Background(), c.b.Key, what)
		}
	})
	if err != nil {
		f.Close()
		return nil, err
	}
	f.Ends(c.b.h.sweeps.Listen(sweepKey(c.b.Key), c.b.h.target(c.b.Key))) // after the subscription, which hears what it sweeps
	return f, nil
}

// heard returns a member that has expired, or a notice.
func (c *Cache[T]) heard(h feed.Heard[struct{}]) (v T, notice error) {
	switch {
	case h.Notice != nil:
		return v, h.Notice
	case h.Gap:
		return v, ErrMissed
	}
	var text string
	if err := feed.Split(h.Payload, &text); err != nil {
		return v, &codec.DecodeError{Name: c.name, Bytes: []byte(h.Payload), Cause: err}
	}
	return c.value(text)
}
