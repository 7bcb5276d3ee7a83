package rueidisson_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bitset"
	"github.com/rueidisson/rueidisson/bloom"
	"github.com/rueidisson/rueidisson/bucket"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/counter"
	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/keyspace"
	"github.com/rueidisson/rueidisson/latch"
	"github.com/rueidisson/rueidisson/list"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multimap"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/queue/reliable"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
	"github.com/rueidisson/rueidisson/redlock"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/nearcache"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
	"github.com/rueidisson/rueidisson/rmap/writethrough"
	"github.com/rueidisson/rueidisson/semaphore"
	"github.com/rueidisson/rueidisson/set"
	"github.com/rueidisson/rueidisson/sortedset"
	"github.com/rueidisson/rueidisson/stream"
	"github.com/rueidisson/rueidisson/timeseries"
	"github.com/rueidisson/rueidisson/topic"
)

// checked is a kind of object: how it is made, and what one does with it.
type checked struct {
	make func(c *rueidisson.Client, name string) rueidisson.Checker
	use  func(u *user, c *rueidisson.Client, name string)
	// wrong is a command that makes the name one of another kind; none: the object has no key.
	wrong []string
	// needs a server with times to live of fields, or with a module
	fields, module bool
}

// user runs operations. A failed operation fails the test.
type user struct {
	t   *testing.T
	ctx context.Context
}

func (u *user) do(errs ...error) {
	u.t.Helper()
	for _, err := range errs {
		assert.NoError(u.t, err)
	}
}

// last returns the error among the results of a call.
func last(results ...any) error {
	err, _ := results[len(results)-1].(error)
	return err
}

// contended runs a critical section by two, so that one waits for the other.
func (u *user) contended(c *rueidisson.Client, l lock.Locker) {
	hold, err := l.Lock(u.ctx)
	u.do(err)
	waiter := make(chan error, 1)
	go func() {
		h, err := l.TryLock(u.ctx, lock.WithWait(5*time.Second), lock.WithLease(10*time.Second))
		if err == nil {
			err = h.Unlock(u.ctx)
		}
		waiter <- err
	}()
	time.Sleep(100 * time.Millisecond) // most of the time it waits by then, and it is no matter if it does not
	if hold != nil {
		u.do(hold.Extend(u.ctx, time.Minute), hold.Unlock(u.ctx))
	}
	u.do(<-waiter)
}

func ignored(err error, ok ...error) error {
	for _, o := range ok {
		if errors.Is(err, o) {
			return nil
		}
	}
	return err
}

func rate(u *user, l *ratelimiter.Limiter) {
	u.do(last(l.TrySetRate(u.ctx, ratelimiter.PerSecond(100))))
	u.do(l.SetRate(u.ctx, ratelimiter.PerSecond(100)), last(l.Rate(u.ctx)), l.Pause(u.ctx), l.Resume(u.ctx))
}

func buckets(u *user, b *ratelimiter.Bucket) {
	u.do(last(b.Allow(u.ctx)), last(b.Take(u.ctx, 2)), last(b.TakeUpTo(u.ctx, 2)), last(b.Peek(u.ctx)), b.Wait(u.ctx), last(b.Reset(u.ctx)))
}

func mapped(u *user, m rmap.Mapping[string, int]) {
	u.do(m.Put(u.ctx, "a", 1), m.PutMany(u.ctx, map[string]int{"b": 2, "c": 3}), last(m.Get(u.ctx, "a")), last(m.GetMany(u.ctx, "a", "b")))
	u.do(last(m.Has(u.ctx, "a")), last(m.Len(u.ctx)), last(m.PutIfAbsent(u.ctx, "d", 1)), last(m.Remove(u.ctx, "b")))
	for _, err := range m.All(u.ctx) {
		u.do(err)
	}
	u.do(last(m.Compute(u.ctx, "a", func(old int, _ bool) (int, rmap.Verdict, error) { return old + 1, rmap.Store, nil })))
	u.do(m.Clear(u.ctx))
}

var checkedKinds = map[string]checked{
	"lock": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return c.Lock(name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			l := c.Lock(name)
			u.contended(c, l)
			h, err := l.Lock(u.ctx)
			u.do(err)
			token, err := h.Token(u.ctx)
			u.do(err)
			joined, err := l.Join(u.ctx, token)
			u.do(err, joined.Unlock(u.ctx), h.Unlock(u.ctx))
			u.do(last(l.Holder(u.ctx)), last(l.ForceUnlock(u.ctx)))
		},
		wrong: []string{"SET", "1"},
	},
	"fenced lock": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return c.FencedLock(name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			u.contended(c, c.FencedLock(name))
			u.do(last(c.FencedLock(name).Holder(u.ctx)), last(c.FencedLock(name).ForceUnlock(u.ctx)))
		},
		wrong: []string{"SET", "1"},
	},
	"fair lock": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return c.FairLock(name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			l := c.FairLock(name)
			u.contended(c, l)
			u.do(last(l.Queue(u.ctx)), last(l.Holder(u.ctx)), last(l.ForceUnlock(u.ctx)))
		},
		wrong: []string{"SET", "1"},
	},
	"read-write lock": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return c.RWLock(name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			l := c.RWLock(name)
			u.contended(c, l.Write())
			u.contended(c, l.Read())
			r, err := l.Read().Lock(u.ctx)
			u.do(err)
			_, err = l.Write().TryLock(u.ctx, lock.WithWait(300*time.Millisecond))
			u.do(ignored(err, lock.ErrNotAcquired), last(l.Readers(u.ctx)), r.Unlock(u.ctx))
			w, err := l.Write().Lock(u.ctx)
			u.do(err)
			r, err = l.Read().Lock(w.Context(u.ctx))
			u.do(err, w.Unlock(u.ctx), r.Unlock(u.ctx), last(l.Write().ForceUnlock(u.ctx)), last(l.Read().ForceUnlock(u.ctx)))
		},
		wrong: []string{"SET", "1"},
	},
	"read side": {
		make:  func(c *rueidisson.Client, name string) rueidisson.Checker { return c.RWLock(name).Read() },
		use:   func(u *user, c *rueidisson.Client, name string) { u.contended(c, c.RWLock(name).Read()) },
		wrong: []string{"RPUSH", "1"},
	},
	"multi lock": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return c.MultiLock(c.Lock(name), c.FairLock(name+"{x}"))
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			u.contended(c, c.MultiLock(c.Lock(name), c.FairLock(name+"{x}")))
		},
		wrong: []string{"SET", "1"},
	},
	"lock group": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return c.LockGroup(name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			u.contended(c, c.LockGroup(name).Of("a", "b"))
			g := c.LockGroup(name)
			h, err := g.Lock(u.ctx, "a")
			u.do(err, h.Unlock(u.ctx), last(g.Of("a").ForceUnlock(u.ctx)))
		},
		wrong: []string{"SET", "1"},
	},
	"values of a group": {
		make:  func(c *rueidisson.Client, name string) rueidisson.Checker { return c.LockGroup(name).Of("a") },
		use:   func(u *user, c *rueidisson.Client, name string) { u.contended(c, c.LockGroup(name).Of("a")) },
		wrong: []string{"SET", "1"},
	},
	"fence guard": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return c.FenceGuard(name, name+":lock") },
		use: func(u *user, c *rueidisson.Client, name string) {
			of := name + ":lock"
			token, err := fence.New(of, 7)
			g := c.FenceGuard(name, of)
			u.do(err, g.Set(u.ctx, token, "x"), c.FenceGuard(name+"2", of).Check(check.Listing(u.ctx, func([]check.Need) {})))
		},
	},
	"election": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return c.Election(name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			el := c.Election(name)
			term, err := el.Campaign(u.ctx, "me")
			u.do(err, term.SetValue(u.ctx, "it"), last(el.Leader(u.ctx)), last(el.Candidates(u.ctx)))
			for l, err := range el.Observe(u.ctx) {
				u.do(err)
				if !l.None() {
					break
				}
			}
			u.do(term.Resign(u.ctx), last(el.Depose(u.ctx)))
		},
		wrong: []string{"SET", "1"},
	},
	"semaphore": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return c.Semaphore(name, semaphore.WithFleetOrder())
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			for _, s := range []*semaphore.Semaphore{c.Semaphore(name), c.Semaphore(name, semaphore.WithFleetOrder())} {
				u.do(last(s.TrySetPermits(u.ctx, 2)), s.SetPermits(u.ctx, 2), s.AddPermits(u.ctx, 1), s.Acquire(u.ctx, 3))
				u.do(ignored(s.TryAcquire(u.ctx, 1, semaphore.WithWait(200*time.Millisecond)), semaphore.ErrNotAcquired))
				u.do(s.Release(u.ctx, 3), s.Release(u.ctx, 1, semaphore.WithRequestID("r", time.Minute)), last(s.Available(u.ctx)), last(s.Drain(u.ctx)), last(s.Delete(u.ctx)))
			}
		},
		wrong: []string{"RPUSH", "1"},
	},
	"semaphore with leases": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return c.PermitSemaphore(name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			s := c.PermitSemaphore(name)
			u.do(last(s.TrySetPermits(u.ctx, 2)), s.SetPermits(u.ctx, 1), s.AddPermits(u.ctx, 1))
			p, err := s.Acquire(u.ctx, semaphore.WithLabel("x"))
			u.do(err, p.Extend(u.ctx, time.Minute))
			q, err := s.Acquire(u.ctx)
			u.do(err)
			_, err = s.TryAcquire(u.ctx, semaphore.WithWait(200*time.Millisecond))
			u.do(ignored(err, semaphore.ErrNotAcquired))
			for _, err := range s.Permits(u.ctx) {
				u.do(err)
			}
			u.do(p.Release(u.ctx), q.Release(u.ctx), last(s.Available(u.ctx)), last(s.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"latch": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return c.Latch(name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			l := c.Latch(name)
			u.do(last(l.TrySetCount(u.ctx, 3)))
			done := make(chan error, 1)
			go func() { done <- l.Await(u.ctx) }()
			u.do(last(l.CountDown(u.ctx)), last(l.CountDownOnce(u.ctx, "p")), last(l.Count(u.ctx)), last(l.CountDown(u.ctx, latch.WithRequestID("r", time.Minute))))
			u.do(<-done, last(l.TrySetCount(u.ctx, 1)), last(l.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"barrier": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return c.Barrier(name, 2) },
		use: func(u *user, c *rueidisson.Client, name string) {
			b := c.Barrier(name, 2)
			done := make(chan error, 1)
			go func() { done <- last(b.Await(u.ctx)) }()
			u.do(last(b.Await(u.ctx)), <-done, last(b.Waiting(u.ctx)), last(b.Reset(u.ctx)), last(b.Delete(u.ctx)))
		},
		wrong: []string{"SET", "1"},
	},
	"double barrier": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return c.DoubleBarrier(name, 2) },
		use: func(u *user, c *rueidisson.Client, name string) {
			b := c.DoubleBarrier(name, 2)
			done := make(chan error, 1)
			party := func() error {
				m, err := b.Enter(u.ctx)
				if err == nil {
					err = m.Leave(u.ctx)
				}
				return err
			}
			go func() { done <- party() }()
			u.do(party(), <-done)
		},
		wrong: []string{"SET", "1"},
	},
	"rate limiter": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return c.RateLimiter(name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			l := c.RateLimiter(name)
			rate(u, l)
			buckets(u, &l.Bucket)
			u.do(last(l.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"bucket of a key": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return c.RateLimiter(name).For("u1") },
		use: func(u *user, c *rueidisson.Client, name string) {
			l := c.RateLimiter(name)
			rate(u, l)
			buckets(u, l.For("u1"))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"limits together": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return ratelimiter.All(c.RateLimiter(name).For("u"), ratelimiter.Shadow(c.RateLimiter("x"+name).For("u")))
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			rate(u, c.RateLimiter(name))
			u.do(last(ratelimiter.All(c.RateLimiter(name).For("u")).Take(u.ctx, 1)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"limiter of Redisson": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return c.RedissonRateLimiter(name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			l := c.RedissonRateLimiter(name)
			r := redissonlimiter.Rate{Permits: 10, Interval: time.Second}
			u.do(last(l.TrySetRate(u.ctx, r)), l.SetRate(u.ctx, r), last(l.Take(u.ctx, 1)), last(l.Rate(u.ctx)), last(l.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"map": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return rmap.New[string, int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			for _, opts := range [][]rmap.MapOption{nil, {rmap.WithRequestIDs()}} {
				m := rmap.New[string, int](c, name, append(opts, rmap.WithCodec(codec.Text))...)
				mapped(u, m)
				u.do(last(rmap.Add(u.ctx, m, "n", 1)), last(m.Expire(u.ctx, time.Hour)), last(m.Persist(u.ctx)), last(m.Remaining(u.ctx)))
				u.do(last(m.SizeInMemory(u.ctx)), last(m.Delete(u.ctx)), last(m.Exists(u.ctx)))
			}
		},
		wrong: []string{"SET", "1"},
	},
	"announced map": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return rmap.New[string, int](c, name, rmap.WithAnnounce())
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			mapped(u, rmap.New[string, int](c, name, rmap.WithAnnounce()))
		},
		wrong: []string{"SET", "1"},
	},
	"native map": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return rmap.NewTTLMap[string, int](c, name)
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			m := rmap.NewTTLMap[string, int](c, name, rmap.WithTTL(time.Hour))
			mapped(u, m)
			u.do(m.Put(u.ctx, "a", 1), last(m.TTL(u.ctx, "a")), last(m.Touch(u.ctx, "a")), last(m.Peek(u.ctx, "a")))
			u.do(last(m.ExpireEntries(u.ctx, []string{"a"}, time.Hour)), last(m.ClearExpire(u.ctx, "a")), last(m.Delete(u.ctx)))
		},
		wrong: []string{"SET", "1"}, fields: true,
	},
	"cache": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return rmap.NewCache[string, int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			m := rmap.NewCache[string, int](c, name, rmap.WithTTL(time.Hour), rmap.WithMaxIdle(time.Hour), rmap.WithCodec(codec.Text))
			u.do(m.SetMaxSize(u.ctx, 2, rmap.LFU))
			ctx, stop := context.WithCancel(u.ctx)
			go func() {
				for range m.Events(ctx) {
				}
			}()
			mapped(u, m)
			stop()
			u.do(last(rmap.Add(u.ctx, m, "n", 1)), last(m.TTL(u.ctx, "n")), last(m.Touch(u.ctx, "n")), last(m.Expire(u.ctx, time.Hour)))
			u.do(last(m.Persist(u.ctx)), m.SetMaxBytes(u.ctx, 1000, rmap.LRU), last(m.Delete(u.ctx)))
		},
		wrong: []string{"SET", "1"},
	},
	"sharded map": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return rmap.NewSharded[string, int](c, name, 4)
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			m := rmap.NewSharded[string, int](c, name, 4)
			mapped(u, m)
			u.do(last(m.Expire(u.ctx, time.Hour)), last(m.Persist(u.ctx)), last(m.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"list multimap": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return multimap.NewList[string, int](c, name)
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			m := multimap.NewList[string, int](c, name)
			u.do(m.PutAll(u.ctx, "k", 1, 2), last(m.Get(u.ctx, "k")), last(m.Range(u.ctx, "k", 0, 1)), last(m.Replace(u.ctx, "k", 3)), last(m.RemoveAll(u.ctx, "k")), last(m.Delete(u.ctx)))
		},
		wrong: []string{"SET", "1"},
	},
	"set multimap": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return multimap.NewSet[string, int](c, name)
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			m := multimap.NewSet[string, int](c, name)
			u.do(last(m.PutAll(u.ctx, "k", 1, 2)), last(m.Get(u.ctx, "k")), last(m.Replace(u.ctx, "k", 3)), last(m.RemoveAll(u.ctx, "k")), last(m.Delete(u.ctx)))
		},
		wrong: []string{"SET", "1"},
	},
	"near cache": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return nearcache.New(rmap.New[string, int](c, name))
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			n := nearcache.New(rmap.New[string, int](c, name))
			defer n.Close()
			u.do(n.Put(u.ctx, "a", 1), last(n.Get(u.ctx, "a")), last(n.Get(u.ctx, "a")))
		},
		wrong: []string{"SET", "1"},
	},
	"announced near cache": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return nearcache.New(rmap.New[string, int](c, name, rmap.WithAnnounce()), nearcache.WithAnnounced())
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			n := nearcache.New(rmap.New[string, int](c, name, rmap.WithAnnounce()), nearcache.WithAnnounced())
			defer n.Close()
			u.do(n.Put(u.ctx, "a", 1), last(n.Get(u.ctx, "a")), last(n.Get(u.ctx, "a")))
		},
		wrong: []string{"SET", "1"},
	},
	"loading map": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return readthrough.New(rmap.New[string, int](c, name), loadOne)
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			l := readthrough.New(rmap.New[string, int](c, name), loadOne)
			u.do(last(l.Get(u.ctx, "")), last(l.GetMany(u.ctx, "")), last(l.Remove(u.ctx, "")))
		},
		wrong: []string{"SET", "1"},
	},
	"loading cache": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return readthrough.New(rmap.NewCache[string, int](c, name), loadOne)
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			l := readthrough.New(rmap.NewCache[string, int](c, name), loadOne)
			u.do(last(l.Get(u.ctx, "a")), last(l.Remove(u.ctx, "a")))
		},
		wrong: []string{"SET", "1"},
	},
	"map that writes through": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return writethrough.New(rmap.New[string, int](c, name), writeAll)
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			w := writethrough.New(rmap.New[string, int](c, name), writeAll)
			u.do(w.Put(u.ctx, "", 1), last(w.Remove(u.ctx, "")), w.Close(u.ctx))
		},
		wrong: []string{"SET", "1"},
	},
	"map that writes behind": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return writethrough.New(rmap.New[string, int](c, name), writeAll, writethrough.WithBehind(10))
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			w := writethrough.New(rmap.New[string, int](c, name), writeAll, writethrough.WithBehind(10))
			u.do(w.Put(u.ctx, "a", 1), last(w.Remove(u.ctx, "a")), w.Close(u.ctx))
		},
		wrong: []string{"SET", "1"},
	},
	"queue": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return queue.New[int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			q := queue.New[int](c, name)
			u.do(last(q.Offer(u.ctx, 1, 2, 3)), last(q.OfferFirst(u.ctx, 0)), last(q.OfferIfExists(u.ctx, 4)), last(q.Peek(u.ctx)), last(q.Poll(u.ctx)))
			u.do(last(q.PollLast(u.ctx)), last(q.PollN(u.ctx, 1)), last(q.Remove(u.ctx, 2, 1)), last(q.Len(u.ctx)), last(q.Drain(u.ctx)))
			go func() { _, _ = q.Offer(u.ctx, 5) }()
			u.do(last(q.Take(u.ctx)), last(q.Offer(u.ctx, 1)), last(q.Expire(u.ctx, time.Hour)), last(q.Persist(u.ctx)), last(q.Delete(u.ctx)))
		},
		wrong: []string{"SET", "1"},
	},
	"bucket": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return bucket.New[int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			b := bucket.New[int](c, name)
			did := func(_ int, _ bool, err error) error { return err }
			u.do(b.Set(u.ctx, 1), did(b.Get(u.ctx)), last(b.SetIfAbsent(u.ctx, 2)), last(b.SetIfExists(u.ctx, 2)), did(b.Swap(u.ctx, 3)))
			u.do(did(b.GetAndExpire(u.ctx, time.Minute)), did(b.GetAndPersist(u.ctx)), last(b.CompareAndSwap(u.ctx, 3, 4)), last(b.Size(u.ctx)))
			for range 20 {
				u.do(did(b.Update(u.ctx, func(old int, _ bool) (int, bucket.Verdict, error) { return old + 1, bucket.Store, nil })))
			}
			u.do(did(b.Take(u.ctx)), b.Set(u.ctx, 1), last(b.CompareAndDelete(u.ctx, 1)), last(b.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"buckets of many names": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return manyBuckets{bucket.NewMany[int](c), name}
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			m := bucket.NewMany[int](c)
			values := map[string]int{name: 1}
			u.do(m.Set(u.ctx, values), m.Set(u.ctx, values, bucket.WithTTL(time.Minute)), last(m.Get(u.ctx, name)))
			u.do(last(m.SetAllIfAbsent(u.ctx, values)), last(m.SetAllIfAbsent(u.ctx, values, bucket.WithTTL(time.Minute))))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"set": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return set.New[int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			s := set.New[int](c, name)
			u.do(last(s.Add(u.ctx, 1, 2, 3)), last(s.AddAllIfAbsent(u.ctx, 4)), last(s.Has(u.ctx, 1)), last(s.Len(u.ctx)), last(s.Random(u.ctx, 2)))
			u.do(last(s.Move(u.ctx, name, 1)), last(s.UnionInto(u.ctx, name)), last(s.InterInto(u.ctx, name)), last(s.Retain(u.ctx, 1, 2)))
			for _, err := range s.Union(u.ctx) {
				u.do(err)
			}
			u.do(last(s.Remove(u.ctx, 2)), last(s.Pop(u.ctx, 1)), last(s.DiffInto(u.ctx, name, name)), last(s.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"set cache": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return set.NewCache[int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			s := set.NewCache[int](c, name)
			u.do(last(s.Add(u.ctx, 1)), last(s.AddMany(u.ctx, []int{2, 3}, set.WithTTL(time.Hour))), last(s.AddIfAbsent(u.ctx, 4)), last(s.Has(u.ctx, 1)))
			u.do(last(s.AddAllIfAbsent(u.ctx, []int{5})), last(s.Remaining(u.ctx, 2)), last(s.Len(u.ctx)), last(s.Random(u.ctx, 2)), last(s.Retain(u.ctx, 1)))
			ctx, stop := context.WithCancel(u.ctx)
			gone := s.Expired(ctx)
			u.do(last(s.Add(u.ctx, 6, set.WithTTL(time.Millisecond))))
			for _, err := range gone {
				u.do(err)
				break
			}
			stop()
			u.do(last(s.Remove(u.ctx, 1)), last(s.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"keys": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return manyKeys{keyspace.New(c), name} },
		use: func(u *user, c *rueidisson.Client, name string) {
			k := keyspace.New(c)
			u.do(last(k.Exists(u.ctx, name)), last(k.Touch(u.ctx, name)), last(k.Type(u.ctx, name)), last(k.Expire(u.ctx, time.Hour, name)))
			u.do(last(k.Count(u.ctx)), last(k.CountMatch(u.ctx, name)), last(k.DeleteMatch(u.ctx, name)), last(k.Delete(u.ctx, name)))
			for _, err := range k.All(u.ctx) {
				u.do(err)
			}
		},
	},
	"bytes": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return bucket.NewBytes(c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			b := bucket.NewBytes(c, name)
			u.do(last(b.Append(u.ctx, []byte("ab"))), last(b.WriteAt(u.ctx, []byte("c"), 0)), last(b.ReadAt(u.ctx, make([]byte, 1), 0)))
			u.do(last(b.Truncate(u.ctx, 1)), last(b.Size(u.ctx)), last(b.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"JSON document": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return bucket.NewJSON[map[string]any](c, name)
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			type doc = map[string]any
			j := bucket.NewJSON[doc](c, name)
			whole := func(_ doc, _ bool, err error) error { return err }
			one := doc{"n": 1, "s": "a", "l": []int{1}, "t": true}
			u.do(j.Set(u.ctx, one), j.Set(u.ctx, one, bucket.WithTTL(time.Minute)), whole(j.Get(u.ctx)), last(j.SetIfAbsent(u.ctx, one)))
			u.do(whole(j.Swap(u.ctx, one)), last(j.CompareAndSwap(u.ctx, one, one)), j.Merge(u.ctx, doc{"m": 1}))
			for range 20 {
				u.do(whole(j.Update(u.ctx, func(old doc, _ bool) (doc, bucket.Verdict, error) { return old, bucket.Store, nil })))
			}
			n, s, l, b := bucket.NumberAt[int](j, "$.n"), bucket.TextAt(j, "$.s"), bucket.ArrayAt[int](j, "$.l"), bucket.At[bool](j, "$.t")
			did := func(_ any, _ bool, err error) error { return err }
			sum, _, added := n.Add(u.ctx, 1)
			longer, _, appended := s.Append(u.ctx, "b")
			most, _, more := l.Append(u.ctx, 2)
			size, _, inserted := l.Insert(u.ctx, 0, 0)
			at, _, found := l.Index(u.ctx, 2)
			e, _, popped := l.Pop(u.ctx, 0)
			left, _, trimmed := l.Trim(u.ctx, 0, 0)
			is, _, toggled := b.Toggle(u.ctx)
			u.do(did(sum, true, added), did(longer, true, appended), did(most, true, more), did(size, true, inserted), did(at, true, found))
			u.do(did(e, true, popped), did(left, true, trimmed), did(is, true, toggled))
			kind, _, typed := b.Type(u.ctx)
			length, _, measured := l.Len(u.ctx)
			names, _, listed := bucket.At[doc](j, "$").Keys(u.ctx)
			u.do(did(kind, true, typed), did(length, true, measured), did(names, true, listed), last(b.Set(u.ctx, true)), last(b.Delete(u.ctx)))
			u.do(last(l.Clear(u.ctx)), whole(j.Take(u.ctx)), j.Set(u.ctx, one), last(j.CompareAndDelete(u.ctx, one)), last(j.Delete(u.ctx)))
		},
		wrong:  []string{"RPUSH", "1"},
		module: true,
	},
	"sorted set": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return sortedset.New[int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			s := sortedset.New[int](c, name)
			did := func(_ any, _ bool, err error) error { return err }
			u.do(last(s.Add(u.ctx, 1, 1)), last(s.AddScore(u.ctx, 1, 1)), last(s.AddScore(u.ctx, 1e300, 2)), last(s.Scores(u.ctx, 1)))
			score, there, err := s.Score(u.ctx, 1)
			rank, ranked, bad := s.Rank(u.ctx, 1)
			back, backed, worse := s.RevRank(u.ctx, 1)
			u.do(did(score, there, err), did(rank, ranked, bad), did(back, backed, worse), last(s.Count(u.ctx, sortedset.AtLeast(1))), last(s.Len(u.ctx)))
			for _, err := range s.All(u.ctx) {
				u.do(err)
			}
			u.do(last(s.UnionInto(u.ctx, name, nil)), last(s.InterInto(u.ctx, name, nil)), last(s.DiffInto(u.ctx, name, nil)))
			u.do(last(s.RangeInto(u.ctx, name, 0, -1)), last(s.PopMin(u.ctx, 1)), last(s.PopMax(u.ctx, 1)), last(s.PopMin(u.ctx, 2)))
			u.do(last(s.RemoveByRank(u.ctx, 0, 1)), last(s.Remove(u.ctx, 1)), last(s.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"time series": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return timeseries.New[int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			s := timeseries.New[int](c, name)
			now := time.Now()
			u.do(s.Add(u.ctx, now, 1), s.Add(u.ctx, now, 2, timeseries.WithTTL(time.Hour)), last(s.First(u.ctx, 1)), last(s.Last(u.ctx, 2)), last(s.Len(u.ctx)))
			for _, err := range s.All(u.ctx, timeseries.WithDescending()) {
				u.do(err)
			}
			u.do(s.Add(u.ctx, now, 3, timeseries.WithTTL(time.Millisecond)))
			for u.ctx.Err() == nil { // until it is swept
				if n, err := s.SizeInMemory(u.ctx); err != nil || n == 0 {
					u.do(err)
					break
				}
				u.do(last(s.PopFirst(u.ctx, 9)))
			}
			u.do(last(s.PopLast(u.ctx, 1)), last(s.Remove(u.ctx, now)), last(s.RemoveRange(u.ctx, now, now)), last(s.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"set of texts": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return sortedset.NewLex(c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			l := sortedset.NewLex(c, name)
			u.do(last(l.Add(u.ctx, "a", "b", "c")), last(l.Count(u.ctx, sortedset.Span{})), last(l.Len(u.ctx)))
			_, _, err := l.Rank(u.ctx, "a")
			u.do(err)
			for _, err := range l.Range(u.ctx, sortedset.Prefix("a")) {
				u.do(err)
			}
			u.do(last(l.PopMin(u.ctx, 1)), last(l.PopMin(u.ctx, 2)), last(l.Remove(u.ctx, "a")), last(l.RemoveRange(u.ctx, sortedset.Span{})))
			u.do(last(l.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"set of places": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return sortedset.NewGeo[int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			g := sortedset.NewGeo[int](c, name)
			here, near := sortedset.Position{Longitude: 1, Latitude: 2}, sortedset.Radius(sortedset.Kilometre)
			u.do(last(g.Add(u.ctx, here, 1)), last(g.Positions(u.ctx, 1)), last(g.WithinInto(u.ctx, name, here, near)))
			_, _, err := g.Hash(u.ctx, 1)
			u.do(err)
			for _, err := range g.WithinOf(u.ctx, 1, near) {
				u.do(err)
			}
			for _, err := range g.All(u.ctx) {
				u.do(err)
			}
			u.do(last(g.Len(u.ctx)), last(g.Remove(u.ctx, 1)), last(g.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"bitset": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return bitset.New(c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			s := bitset.New(c, name)
			u.do(last(s.Set(u.ctx, 1)), last(s.Set(u.ctx, 1, 2)), last(s.Clear(u.ctx, 1)), last(s.Get(u.ctx, 1)), last(s.Get(u.ctx, 1, 2)))
			u.do(s.SetRange(u.ctx, 0, 100), s.ClearRange(u.ctx, 5, 50), last(s.Count(u.ctx)), last(s.Len(u.ctx)), last(s.Bytes(u.ctx)))
			u.do(last(s.Int(8, 0).Get(u.ctx)), last(s.Int(8, 0).Set(u.ctx, 1)), last(s.Uint(8, 0).Add(u.ctx, 1)))
			u.do(s.Or(u.ctx, name), s.Not(u.ctx), last(s.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"list": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return list.New[int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			l := list.New[int](c, name)
			did := func(_ int, _ bool, err error) error { return err }
			u.do(last(l.Append(u.ctx, 1, 2, 3)), last(l.Prepend(u.ctx, 0)), last(l.Insert(u.ctx, 1, 5)), last(l.Insert(u.ctx, 1, 6, 7)))
			u.do(did(l.Get(u.ctx, 1)), last(l.GetMany(u.ctx, 0, 1)), did(l.Set(u.ctx, 1, 8)), did(l.RemoveAt(u.ctx, 1)), did(l.RemoveAt(u.ctx, 0)))
			_, _, err := l.Index(u.ctx, 3)
			u.do(err, did(l.RemoveAt(u.ctx, -1)), last(l.Remove(u.ctx, 2, 1)), last(l.Range(u.ctx, 0, -1)), last(l.Len(u.ctx)))
			u.do(l.Trim(u.ctx, 0, 0), last(l.Delete(u.ctx)))
		},
		wrong: []string{"SET", "1"},
	},
	"bounded queue": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return queue.NewBounded[int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			q := queue.NewBounded[int](c, name)
			u.do(last(q.TrySetCapacity(u.ctx, 2)), last(q.Offer(u.ctx, 1)), last(q.OfferFirst(u.ctx, 1)), last(q.Free(u.ctx)))
			_, err := q.TryOffer(u.ctx, 9, queue.WithWait(200*time.Millisecond))
			u.do(ignored(err, queue.ErrFull), last(q.Poll(u.ctx)), last(q.Take(u.ctx)), q.Reconcile(u.ctx, 3), last(q.Drain(u.ctx)))
			go func() { _, _ = q.Offer(u.ctx, 5) }()
			u.do(last(q.Take(u.ctx)), last(q.Offer(u.ctx, 1)), last(q.Remove(u.ctx, 1, 1)), last(q.Delete(u.ctx)))
		},
		wrong: []string{"SET", "1"},
	},
	"counter": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return counter.New(c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			for _, n := range []*counter.Counter{counter.New(c, name), counter.New(c, name, counter.WithTTL(time.Minute))} {
				u.do(last(n.Add(u.ctx, 1)), last(n.Get(u.ctx)), n.Set(u.ctx, 2), last(n.SetIfAbsent(u.ctx, 2)), last(n.Swap(u.ctx, 3)), last(n.Raise(u.ctx, 4)))
				u.do(last(n.Lower(u.ctx, 3)), last(n.CompareAndSwap(u.ctx, 3, 4)), last(n.CompareAndDelete(u.ctx, 4)), last(n.Take(u.ctx)), last(n.Delete(u.ctx)))
			}
		},
		wrong: []string{"RPUSH", "1"},
	},
	"counter with request ids": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return counter.New(c, name, counter.WithRequestIDs())
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			u.do(last(counter.New(c, name, counter.WithRequestIDs()).Add(u.ctx, 1)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"adder": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return counter.NewAdder(c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			a := counter.NewAdder(c, name)
			u.do(a.Add(u.ctx, 1), a.Flush(u.ctx), last(a.Sum(u.ctx)), last(a.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"float": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return counter.NewFloat(c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			f := counter.NewFloat(c, name)
			u.do(last(f.Add(u.ctx, 1)), last(f.Get(u.ctx)), f.Set(u.ctx, 2), last(f.Swap(u.ctx, 3)), last(f.CompareAndSwap(u.ctx, 3, 4)), last(f.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"id generator": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return counter.NewIDs(c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			g := counter.NewIDs(c, name)
			ids := func(_, _ int64, err error) error { return err }
			u.do(last(g.Init(u.ctx, 1, 2)), last(g.Next(u.ctx)), ids(g.Range(u.ctx, 9)), last(g.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"distinct count": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return counter.NewDistinct[int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			d := counter.NewDistinct[int](c, name)
			u.do(d.Add(u.ctx, 1, 2), last(d.Count(u.ctx)), d.Merge(u.ctx, name), last(d.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"bloom filter": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return bloom.New[int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			f := bloom.New[int](c, name)
			u.do(last(f.Init(u.ctx, 100, 0.01)), f.Add(u.ctx, 1), last(f.AddNew(u.ctx, 1, 2)), last(f.Has(u.ctx, 1)), last(f.HasEach(u.ctx, 1, 2)))
			u.do(last(f.Count(u.ctx)), last(f.Shape(u.ctx)), last(f.Delete(u.ctx)))
		},
		wrong: []string{"RPUSH", "1"},
	},
	"ring buffer": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return queue.NewRing[int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			q := queue.NewRing[int](c, name)
			u.do(last(q.TrySetCapacity(u.ctx, 2)), last(q.Offer(u.ctx, 1, 2, 3)), last(q.Poll(u.ctx)), last(q.Newest(u.ctx, 1)), last(q.Oldest(u.ctx, 1)))
			u.do(last(q.Remove(u.ctx, 3, 1)), last(q.Drain(u.ctx)), last(q.Clear(u.ctx)), q.SetCapacity(u.ctx, 4), last(q.Delete(u.ctx)))
		},
		wrong: []string{"SET", "1"},
	},
	"priority queue": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return queue.NewPriority[int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			q := queue.NewPriority[int](c, name)
			u.do(last(q.Offer(u.ctx, 1, 1)), last(q.Offer(u.ctx, 2, 2)), last(q.Peek(u.ctx)), last(q.Score(u.ctx, 1)), last(q.Poll(u.ctx)), last(q.PollLast(u.ctx)))
			go func() { _, _ = q.Offer(u.ctx, 5, 1) }()
			u.do(last(q.Take(u.ctx)), last(q.Remove(u.ctx, 1)), last(q.Drain(u.ctx)), last(q.Delete(u.ctx)))
		},
		wrong: []string{"SET", "1"},
	},
	"delayed queue": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return queue.NewDelayed[int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			for _, opts := range [][]queue.Option{nil, {queue.WithRedissonFormat()}} {
				q := queue.NewDelayed[int](c, name, opts...)
				u.do(last(q.Offer(u.ctx, 1, 0)), last(q.Take(u.ctx)), last(q.Offer(u.ctx, 2, time.Hour)), last(q.Move(u.ctx)), last(q.Len(u.ctx)))
				u.do(last(q.Remove(u.ctx, 2, 1)), last(q.Delete(u.ctx)))
			}
		},
		wrong: []string{"SET", "1"},
	},
	"stream": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return stream.New[string, int](c, name)
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			s := stream.New[string, int](c, name)
			id, err := s.Add(u.ctx, map[string]int{"a": 1})
			u.do(err, last(s.Len(u.ctx)), last(s.Info(u.ctx)), last(s.Trim(u.ctx, 10)), last(s.Remove(u.ctx, id)))
			for _, err := range s.Range(u.ctx, "-", "+") {
				u.do(err)
			}
		},
		wrong: []string{"SET", "1"},
	},
	"group of a stream": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return stream.New[string, int](c, name).Group("g")
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			s := stream.New[string, int](c, name)
			g := s.Group("g")
			u.do(last(g.Create(u.ctx, stream.FromStart)), last(s.Add(u.ctx, map[string]int{"a": 1})), last(s.Add(u.ctx, map[string]int{"a": 2})))
			n := 0
			for m, err := range g.Messages(u.ctx, "c") {
				u.do(err)
				if n++; n == 1 {
					u.do(m.Bury(u.ctx, errors.New("bad")))
					continue
				}
				u.do(m.Ack(u.ctx))
				break
			}
			for _, err := range g.Dead(u.ctx) {
				u.do(err)
			}
			u.do(last(g.Redrive(u.ctx)), last(g.PurgeDead(u.ctx)), last(g.Destroy(u.ctx)))
		},
		wrong: []string{"SET", "1"},
	},
	"reliable queue": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return reliable.New[int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			q := reliable.New[int](c, name)
			id, err := q.Add(u.ctx, 1, reliable.WithDedup("d", time.Minute))
			u.do(err, last(q.Find(u.ctx, id)), last(q.Stats(u.ctx)), q.SetPriority(u.ctx, id, 3))
			m, err := q.Receive(u.ctx)
			u.do(err, m.SetProgress(u.ctx, 1), m.Extend(u.ctx, time.Minute), m.Nack(u.ctx, errors.New("bad"), reliable.WithDelay(time.Hour)))
			u.do(q.RunNow(u.ctx, id))
			m, err = q.Receive(u.ctx)
			u.do(err, m.Ack(u.ctx), q.Pause(u.ctx, time.Minute), q.Resume(u.ctx))
			id, err = q.Add(u.ctx, 2)
			u.do(err, q.Remove(u.ctx, id), last(q.RedriveAll(u.ctx)), last(q.Delete(u.ctx)))
		},
	},
	"topic": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return topic.New[int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			t := topic.New[int](c, name)
			s, err := t.Listen(u.ctx)
			u.do(err, last(t.Publish(u.ctx, 1)), last(t.CountSubscribers(u.ctx)))
			s.Close()
		},
	},
	"sharded topic": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return topic.NewSharded[int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			t := topic.NewSharded[int](c, name)
			s, err := t.Listen(u.ctx)
			u.do(err, last(t.Publish(u.ctx, 1)), last(t.CountSubscribers(u.ctx)))
			s.Close()
		},
	},
	"pattern topic": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return topic.NewPattern[int](c, name+"*") },
		use: func(u *user, c *rueidisson.Client, name string) {
			t := topic.NewPattern[int](c, name+"*")
			s, err := t.Listen(u.ctx)
			u.do(err, last(t.ActiveNames(u.ctx)))
			s.Close()
		},
	},
	"reliable topic": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker { return topic.NewReliable[int](c, name) },
		use: func(u *user, c *rueidisson.Client, name string) {
			t := topic.NewReliable[int](c, name)
			s, err := t.Listen(u.ctx)
			u.do(err, last(t.Publish(u.ctx, 1)))
			for _, err := range s.Messages(u.ctx) {
				u.do(err)
				break
			}
			s.Close()
		},
		wrong: []string{"SET", "1"},
	},
	"durable name": {
		make: func(c *rueidisson.Client, name string) rueidisson.Checker {
			return topic.NewReliable[int](c, name, topic.WithMaxLength(10)).Durable("d")
		},
		use: func(u *user, c *rueidisson.Client, name string) {
			t := topic.NewReliable[int](c, name, topic.WithMaxLength(10))
			d := t.Durable("d")
			s, err := d.Listen(u.ctx)
			u.do(err, last(t.Publish(u.ctx, 1)))
			for _, err := range s.Messages(u.ctx) {
				u.do(err)
				break
			}
			s.Close()
			u.do(last(d.Lag(u.ctx)), last(d.Drop(u.ctx)))
		},
		wrong: []string{"SET", "1"},
	},
}

// manyKeys is the check of keys, by an example of their names.
type manyKeys struct {
	*keyspace.Keys
	name string
}

func (k manyKeys) Check(ctx context.Context) error { return k.Keys.Check(ctx, k.name) }

// manyBuckets checks one of many buckets.
type manyBuckets struct {
	many *bucket.Many[int]
	name string
}

func (m manyBuckets) Check(ctx context.Context) error { return m.many.Check(ctx, m.name) }

func loadOne(context.Context, string) (int, bool, error) { return 1, true, nil }

func writeAll(context.Context, []writethrough.Change[string, int]) error { return nil }

// eachKind runs a test for each kind of object at the same time.
func eachKind(t *testing.T, test func(t *testing.T, kind checked, name string)) {
	t.Helper()
	for label, kind := range checkedKinds {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			if kind.module {
				redistest.NeedJSON(t)
			}
			test(t, kind, "orders:"+strings.ReplaceAll(label, " ", "-"))
		})
	}
}

// onEach runs a test on a server of each version, with its number.
func onEach(t *testing.T, test func(t *testing.T, number int, server *redistest.Server), opts ...redistest.Option) {
	t.Helper()
	for i, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, i, redistest.Start(t, append([]redistest.Option{redistest.Version(version)}, opts...)...))
		})
	}
}

func connected(t testing.TB, raw rueidis.Client, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	c, err := rueidisson.Wrap(raw, append(opts, rueidisson.WithClientID("285475da-9152-4c83-822a-67ee2f116a79"))...)
	require.NoError(t, err)
	t.Cleanup(func() { shut(t, c) })
	return c
}

// unsupported reports whether the server lacks what the kind needs: times to live of fields, or a module. Its check then says so.
func unsupported(kind checked, err error) bool {
	return (kind.fields || kind.module) && errors.Is(err, errors.ErrUnsupported)
}

// TestCheckIsContentAndWritesNothing checks objects that nobody has used, and some that are used.
func TestCheckIsContentAndWritesNothing(t *testing.T) {
	t.Parallel()
	redistest.OnStarted(t, func(t *testing.T, server *redistest.Server) {
		raw := server.Client(t)
		c := connected(t, raw)
		for label, kind := range checkedKinds {
			name := "orders:" + strings.ReplaceAll(label, " ", "-")
			err := kind.make(c, name).Check(t.Context())
			if unsupported(kind, err) {
				continue
			}
			assert.NoError(t, err, label)
		}
		n, err := raw.Do(t.Context(), raw.B().Dbsize().Build()).AsInt64()
		require.NoError(t, err)
		assert.Zero(t, n, "a check has written a key")
	}, redistest.JSONIfAny())
}

// needsOf returns what the check of an object asks for.
func needsOf(t *testing.T, o rueidisson.Checker) (needs []check.Need) {
	t.Helper()
	var mu sync.Mutex
	require.NoError(t, o.Check(check.Listing(t.Context(), func(more []check.Need) {
		mu.Lock()
		defer mu.Unlock()
		needs = append(needs, more...)
	})))
	require.NotEmpty(t, needs)
	return needs
}

// connection lists the commands that rueidis and the client run on any connection.
var connection = []string{"+hello", "+ping", "+info", "+eval", "+evalsha", "+time", "+client|setinfo", "+discard"}

// ruleOf returns the words of an ACL that permits all needs, except those that leave reports.
func ruleOf(needs []check.Need, leave func(check.Need) bool) []string {
	words := slices.Clone(connection)
	add := func(mark, name string, more bool) {
		if more || strings.HasSuffix(name, ":0") {
			name = strings.TrimSuffix(name, "0") + "*"
		}
		words = append(words, mark+name)
	}
	for _, n := range needs {
		if leave(n) {
			continue
		}
		words = append(words, "+"+strings.ReplaceAll(n.Command, " ", "|"))
		if n.Key != "" {
			add("~", n.Key, n.Each)
		}
		if n.Channel != "" {
			add("&", n.Channel, false)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// as makes a user by the words, and returns a client of it.
func as(t *testing.T, server *redistest.Server, user string, words []string) *rueidisson.Client {
	t.Helper()
	admin := server.Client(t)
	command := append([]string{"ACL", "SETUSER", user, "reset", "on", ">password", "resetchannels", "-@all"}, words...)
	require.NoError(t, admin.Do(t.Context(), admin.B().Arbitrary(command...).Build()).Error())
	raw, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{server.Addr()}, Username: user, Password: "password", DisableCache: true, ForceSingleClient: true,
	})
	require.NoError(t, err)
	t.Cleanup(raw.Close)
	return connected(t, raw)
}

// passedOver are commands that an object does without, see docs/redis.md, and those by which rueidis gives a connection back.
var passedOver = []string{
	"cluster|info", "cluster|myid", "cluster|slots", "pubsub|shardnumsub", "info", "unsubscribe", "punsubscribe", "sunsubscribe",
}

// TestCheckAsksForEveryCommandThatIsUsed uses objects as a user who may do what their checks ask for, and nothing else.
func TestCheckAsksForEveryCommandThatIsUsed(t *testing.T) {
	t.Parallel()
	redistest.OnStarted(t, func(t *testing.T, server *redistest.Server) {
		free := connected(t, server.Client(t))
		eachKind(t, func(t *testing.T, kind checked, name string) {
			if unsupported(kind, kind.make(free, name).Check(t.Context())) {
				return
			}
			who := "user-" + name
			words := ruleOf(needsOf(t, kind.make(free, name)), func(check.Need) bool { return false })
			words = known(t, server, words)
			c := as(t, server, who, words)
			require.NoError(t, kind.make(c, name).Check(t.Context()))
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			kind.use(&user{t, ctx}, c, name)
			for _, denied := range denials(t, server, who) {
				assert.Contains(t, passedOver, denied)
			}
		})
	}, redistest.JSONIfAny())
}

// known leaves out commands that the server does not know.
func known(t *testing.T, server *redistest.Server, words []string) []string {
	t.Helper()
	raw := server.Client(t)
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		name, is := strings.CutPrefix(word, "+")
		if !is {
			return false
		}
		info, err := raw.Do(t.Context(), raw.B().CommandInfo().CommandName(name).Build()).ToArray()
		return err != nil || len(info) == 0 || info[0].IsNil()
	})
}

// denials returns what the server has denied to a user.
func denials(t *testing.T, server *redistest.Server, who string) (objects []string) {
	t.Helper()
	admin := server.Client(t)
	log, err := admin.Do(context.Background(), admin.B().Arbitrary("ACL", "LOG", "1000").Build()).ToArray()
	require.NoError(t, err)
	for _, entry := range log {
		said, err := entry.AsMap()
		require.NoError(t, err)
		text := func(field string) string { v := said[field]; s, _ := v.ToString(); return s }
		if text("username") == who {
			objects = append(objects, text("object"))
		}
	}
	return objects
}

// TestCheckNamesWhatIsNotPermitted takes one permission after the other from a user. A command that all servers have is taken away on one
// of them, and in a soak on each.
func TestCheckNamesWhatIsNotPermitted(t *testing.T) {
	t.Parallel()
	most := redistest.Count(t, 1, len(redistest.Versions))
	oldest := redistest.Shared(t, redistest.Version(redistest.Versions[0])).Client(t)
	everywhere, err := oldest.Do(t.Context(), oldest.B().Arbitrary("COMMAND", "LIST").Build()).AsStrSlice()
	require.NoError(t, err)
	onEach(t, func(t *testing.T, number int, server *redistest.Server) {
		spared := func(kind checked, name, command string) bool {
			if kind.fields || kind.module || !slices.Contains(everywhere, command) {
				return false
			}
			h := fnv.New32a()
			_, _ = h.Write([]byte(name + command))
			every := len(redistest.Versions)
			return (int(h.Sum32()%uint32(every))+number)%every >= most
		}
		free := connected(t, server.Client(t))
		eachKind(t, func(t *testing.T, kind checked, name string) {
			if unsupported(kind, kind.make(free, name).Check(t.Context())) {
				return
			}
			needs := needsOf(t, kind.make(free, name))
			who := "user-" + name
			c := as(t, server, who, known(t, server, ruleOf(needs, func(check.Need) bool { return false })))
			admin := server.Client(t)
			without := func(words ...string) error {
				t.Helper()
				command := append([]string{"ACL", "SETUSER", who}, words...)
				require.NoError(t, admin.Do(t.Context(), admin.B().Arbitrary(command...).Build()).Error())
				return kind.make(c, name).Check(t.Context())
			}
			commands := map[string]bool{}
			for _, n := range needs {
				if commands[n.Command] || n.Command == "eval" || n.Command == "evalsha" || len(known(t, server, []string{"+" + n.Command})) == 0 {
					continue
				}
				if commands[n.Command] = true; spared(kind, name, n.Command) {
					continue
				}
				err := without("-" + n.Command)
				require.ErrorIs(t, err, rueidisson.ErrNotPermitted, n.Command)
				assert.ErrorContains(t, err, strings.ToUpper(n.Command))
				require.NoError(t, without("+"+n.Command))
			}
			for _, n := range needs {
				if n.Key == "" {
					continue
				}
				err := without("resetkeys")
				require.ErrorIs(t, err, rueidisson.ErrNotPermitted)
				if n.Each {
					continue // which is shown as a pattern
				}
				assert.ErrorContains(t, err, fmt.Sprintf("%q", n.Key))
				break
			}
			for _, n := range needs {
				if n.Channel == "" {
					continue
				}
				err := without("allkeys", "resetchannels")
				require.ErrorIs(t, err, rueidisson.ErrNotPermitted)
				assert.ErrorContains(t, err, fmt.Sprintf("%q", n.Channel))
				break
			}
			err := without("allkeys", "allchannels", "-eval", "-evalsha")
			require.ErrorIs(t, err, rueidisson.ErrNotPermitted)
			assert.ErrorContains(t, err, "script")
		})
	}, redistest.JSONIfAny())
}

// TestCheckNamesCommandsThatTheServerDoesNotHave checks on servers whose configuration takes commands away, or renames
// them.
func TestCheckNamesCommandsThatTheServerDoesNotHave(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Version(version), redistest.Config("rename-command", "ZADD", ""),
				redistest.Config("rename-command", "HSET", "hset_of_others"), redistest.Config("rename-command", "BLPOP", ""),
				redistest.Config("rename-command", "SUBSCRIBE", ""))
			c := connected(t, server.Client(t))
			for command, object := range map[string]rueidisson.Checker{
				"ZADD": queue.NewPriority[int](c, "p"), "HSET": rmap.New[string, int](c, "m"), "BLPOP": queue.New[int](c, "q"),
				"SUBSCRIBE": topic.New[int](c, "t"),
			} {
				err := object.Check(t.Context())
				require.ErrorIs(t, err, rueidisson.ErrNotPermitted, command)
				assert.ErrorContains(t, err, "the server has no command "+command)
				assert.Equal(t, 1, strings.Count(err.Error(), " "+command), "it is named once: %v", err)
			}
			require.NoError(t, c.Check(t.Context(), c.RateLimiter("l")), "which needs none of them")
		})
	}
}

// TestCheckFindsAKeyOfAnotherKind gives the names to something else.
func TestCheckFindsAKeyOfAnotherKind(t *testing.T) {
	t.Parallel()
	redistest.OnStarted(t, func(t *testing.T, server *redistest.Server) {
		raw := server.Client(t)
		c := connected(t, raw)
		eachKind(t, func(t *testing.T, kind checked, name string) {
			if err := kind.make(c, name).Check(t.Context()); kind.wrong == nil || unsupported(kind, err) { // any key may have the name
				return
			}
			require.NoError(t, raw.Do(t.Context(), raw.B().Arbitrary(kind.wrong[0]).Keys(name).Args(kind.wrong[1:]...).Build()).Error())
			err := kind.make(c, name).Check(t.Context())
			require.ErrorIs(t, err, rueidisson.ErrWrongKind)
			assert.ErrorContains(t, err, fmt.Sprintf("key %q", name))
			assert.ErrorContains(t, err, "check ")
		})
	}, redistest.JSONIfAny())
}

// TestCheckRefusesANameWithoutAsking checks objects without a name.
func TestCheckRefusesANameWithoutAsking(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := connected(t, server.Client(t))
	for label, kind := range checkedKinds {
		if label == "multi lock" || label == "pattern topic" || label == "limits together" {
			continue // whose names are made of others
		}
		server.ResetStats()
		require.ErrorIs(t, kind.make(c, "").Check(t.Context()), rueidisson.ErrInvalidArgument, label)
		assert.Zero(t, server.ScriptCalls(t), label)
	}
}

// TestCheckOnACluster checks objects whose keys are in one slot, and in several.
func TestCheckOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	raw := cluster.Client(t)
	c := connected(t, raw)
	sharded := rmap.NewSharded[string, int](c, "orders", 16)
	require.NoError(t, c.Check(t.Context(), c.Lock("a"), c.FairLock("b"), c.RateLimiter("c").For("u1"), sharded, reliable.New[int](c, "d"),
		topic.NewSharded[int](c, "e")))
	require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key("{orders:7}").Value("1").Build()).Error())
	require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key("a").Value("1").Build()).Error())
	err := c.Check(t.Context(), c.Lock("a"), sharded, c.Lock("x}{y"))
	require.ErrorIs(t, err, rueidisson.ErrWrongKind)
	require.ErrorIs(t, err, rueidisson.ErrInvalidArgument)
	assert.ErrorContains(t, err, `key "{orders:7}"`)
	assert.ErrorContains(t, err, `check lock "a"`)
}

// TestCheckTellsSettingsApart makes the settings of a server ones that endanger holds.
func TestCheckTellsSettingsApart(t *testing.T) {
	t.Parallel()
	redistest.OnStarted(t, func(t *testing.T, server *redistest.Server) {
		raw := server.Client(t)
		c := connected(t, raw)
		require.NoError(t, c.Check(t.Context(), c.Lock("a")))
		require.NoError(t, raw.Do(t.Context(), raw.B().ConfigSet().ParameterValue().ParameterValue("maxmemory-policy", "allkeys-lru").Build()).Error())
		err := c.Check(t.Context(), c.Lock("a"))
		require.ErrorIs(t, err, rueidisson.ErrSettings)
		assert.ErrorContains(t, err, "allkeys-lru")
		var found *rueidisson.CheckError
		require.ErrorAs(t, err, &found)
		require.NoError(t, found.Objects)
		require.ErrorIs(t, c.Check(t.Context(), c.Lock("a"), nil), rueidisson.ErrInvalidArgument)

		acked := connected(t, server.Client(t), rueidisson.WithReplicaAcks(1, time.Second))
		assert.ErrorContains(t, acked.Check(t.Context()), "WithReplicaAcks wants 1")
	})
}

// TestCheckFindsAServerThatTakesNoWrites checks on a replica, and on a master that has too few replicas.
func TestCheckFindsAServerThatTakesNoWrites(t *testing.T) {
	t.Parallel()
	redistest.OnStarted(t, func(t *testing.T, server *redistest.Server) {
		raw := server.Client(t)
		c := connected(t, raw)
		redistest.Do(t, raw, "CONFIG", "SET", "min-replicas-to-write", "1")
		err := c.Check(t.Context(), c.Lock("a"))
		require.ErrorIs(t, err, rueidisson.ErrSettings)
		assert.ErrorContains(t, err, "0 replicas are in step, and min-replicas-to-write is 1: nothing can be written")
		redistest.Do(t, raw, "CONFIG", "SET", "min-replicas-to-write", "0")
		require.NoError(t, c.Check(t.Context(), c.Lock("a")))

		redistest.Do(t, raw, "REPLICAOF", "127.0.0.1", "1")
		err = c.Check(t.Context(), c.Lock("a"))
		require.ErrorIs(t, err, rueidisson.ErrSettings)
		assert.ErrorContains(t, err, "the server is a replica of 127.0.0.1:1: use its master")
		redistest.Do(t, raw, "REPLICAOF", "NO", "ONE")
		require.NoError(t, c.Check(t.Context(), c.Lock("a")))
	})
}

// TestCheckWithoutACL checks on a server that does not know what a user may do.
func TestCheckWithoutACL(t *testing.T) {
	t.Parallel()
	raw := redistest.MiniredisClient(t)
	c := connected(t, raw)
	require.NoError(t, c.Check(t.Context(), c.Lock("a"), c.Semaphore("b"), rmap.NewCache[string, int](c, "c")))
	require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key("a").Value("1").Build()).Error())
	require.ErrorIs(t, c.Lock("a").Check(t.Context()), rueidisson.ErrWrongKind)
}

// TestCheckTellsAMapFromACache checks hashes by an entry of the other kind.
func TestCheckTellsAMapFromACache(t *testing.T) {
	t.Parallel()
	redistest.OnStarted(t, func(t *testing.T, server *redistest.Server) {
		c := connected(t, server.Client(t))
		require.NoError(t, rmap.New[string, string](c, "m").Put(t.Context(), "k", "a value"))
		require.NoError(t, rmap.NewCache[string, string](c, "c").Put(t.Context(), "k", "a value"))
		require.NoError(t, c.Check(t.Context(), rmap.New[string, string](c, "m"), rmap.NewCache[string, string](c, "c")))
		require.ErrorIs(t, rmap.New[string, string](c, "c").Check(t.Context()), rmap.ErrWrongKind)
		require.ErrorIs(t, rmap.NewCache[string, string](c, "m").Check(t.Context()), rmap.ErrWrongKind)
		hold, err := c.RWLock("rw").Read().Lock(t.Context())
		require.NoError(t, err)
		require.ErrorIs(t, c.Lock("rw").Check(t.Context()), lock.ErrWrongKind)
		require.NoError(t, c.RWLock("rw").Check(t.Context()))
		require.NoError(t, hold.Unlock(t.Context()))
	})
}

// TestCheckOfARedLock checks members on servers of their own.
func TestCheckOfARedLock(t *testing.T) {
	t.Parallel()
	var locks []lock.Locker
	var raw rueidis.Client
	for range 3 {
		raw = redistest.Start(t).Client(t)
		c, err := rueidisson.Wrap(raw)
		require.NoError(t, err)
		t.Cleanup(func() { shut(t, c) })
		locks = append(locks, c.Lock("a"))
	}
	require.NoError(t, redlock.New(locks...).Check(t.Context()))
	require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key("a").Value("1").Build()).Error())
	require.ErrorIs(t, redlock.New(locks...).Check(t.Context()), lock.ErrWrongKind)
	require.ErrorIs(t, redlock.New(locks[0]).Check(t.Context()), lock.ErrInvalidArgument)
}

// TestCheckSaysThatTheServerIsAway within the time of its context, also without objects.
func TestCheckSaysThatTheServerIsAway(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	c := waiterClient(t, proxy.Addr())
	require.NotErrorIs(t, c.Check(t.Context()), context.DeadlineExceeded)
	proxy.BlackHole()
	redistest.Within(t, time.Second, func() time.Duration {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, c.Check(ctx), context.DeadlineExceeded)
		require.ErrorIs(t, c.Check(ctx, c.Lock("a")), context.DeadlineExceeded)
		return time.Since(began)
	})
	proxy.Restore()
	proxy.Refuse()
	proxy.CutAll()
	require.Error(t, c.Check(t.Context()))
	proxy.Accept()
}
