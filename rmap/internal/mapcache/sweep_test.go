package mapcache

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/sweep"
)

// sweepOnce runs sweep.lua as somebody.
func (r *rig) sweepOnce(who string) []string {
	r.t.Helper()
	msg := r.run(sweepScript, append(r.n.All(), r.n.latch), who, r.now(), r.e.Publish(), sweep.Kept, "3", "0", "")
	parts, err := msg.ToArray()
	require.NoError(r.t, err)
	var said []string
	for _, p := range parts {
		if n, err := p.AsInt64(); err == nil {
			said = append(said, strconv.FormatInt(n, 10))
		} else {
			text, err := p.ToString()
			require.NoError(r.t, err)
			said = append(said, text)
		}
	}
	return said
}

func TestASweepDropsWhatHasExpiredAndNothingElse(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		r.put("over", "1", Life{TTL: time.Second})
		r.put("rested", "2", Life{Idle: time.Second})
		r.put("later", "3", Life{TTL: 2 * time.Second, Idle: time.Minute})
		r.put("ever", "4", Life{})
		r.do("ZADD", r.n.Rests, "1", "ever", "1", "no such") // D1: Redisson's own sweep would drop it
		r.do("ZADD", r.n.Times, "1", "nothing")
		heard := r.listen()
		r.clock.forward(time.Second)
		gone := 0
		for more := true; more; {
			said := r.sweepOnce("me")
			n, err := strconv.Atoi(said[0])
			require.NoError(t, err)
			if gone, more = gone+n, said[1] == "1"; !more {
				assert.Equal(t, []string{at(2 * time.Second), "0"}, said[2:4])
			}
		}
		assert.Equal(t, 2, gone)
		heard.expect(Event{Expired, "over", "1", ""}, Event{Expired, "rested", "2", ""})
		assert.Equal(t, []string{"ever", "later"}, r.fields())
		assert.Equal(t, []string{"later"}, r.members(r.n.Times))
		assert.Equal(t, []string{"later"}, r.members(r.n.Rests), "what led nowhere has gone")
		assert.Equal(t, "4", r.get("ever"))
		r.clock.forward(time.Second)
		assert.Equal(t, []string{"1", "0", "", "0", "1"}, r.sweepOnce("me"))
		heard.expect(Event{Expired, "later", "3", ""})
		assert.Equal(t, []string{"ever"}, r.fields())
	})
}

func TestOneOfTheFleetSweepsAtATime(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		r.put("k", "v", Life{TTL: time.Second})
		r.clock.forward(time.Second)
		r.do("SET", r.n.latch, "1", "PX", "5000") // Redisson's
		said := r.sweepOnce("me")
		assert.Equal(t, "-1", said[0])
		left, err := strconv.Atoi(said[1])
		require.NoError(t, err)
		assert.True(t, left > 0 && left <= 5000, left)
		assert.Equal(t, []string{"k"}, r.fields())
		r.do("DEL", r.n.latch)
		assert.Equal(t, "1", r.sweepOnce("me")[0])
		assert.Equal(t, "-1", r.sweepOnce("you")[0])
		assert.Equal(t, "0", r.sweepOnce("me")[0], "who sweeps goes on")
		ttl := r.count("PTTL", r.n.latch)
		assert.True(t, ttl > 0 && ttl <= sweep.Period.Milliseconds(), ttl)
		r.do("SET", r.n.latch, "left without an end")
		assert.Equal(t, "-1", r.sweepOnce("me")[0])
		assert.Positive(t, r.count("PTTL", r.n.latch), "it has one now")
	})
}

// The tag of a cache that goes as a whole is no entry.
func TestASweepKnowsTheTag(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("k", "v", Life{})
	r.bound(1, "LRU")
	r.used("k", "LRU")
	r.run(Expire, r.n.All(), "0", "60000")
	assert.Equal(t, []string{"0", "0", "", "0", "0"}, r.sweepOnce("me"))
	r.put("l", "v", Life{})
	assert.Equal(t, []string{"l"}, r.fields())
	assert.Contains(t, r.members(r.n.Accesses), "redisson__expiretag")
}

// Large values are read only where somebody listens, and not many at once.
func TestASweepOfLargeValuesEndsEarly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	value := strings.Repeat("x", 200<<10)
	for i := range 3 {
		r.put(fmt.Sprint("t", i), value, Life{TTL: time.Second})
		r.put(fmt.Sprint("i", i), value, Life{Idle: time.Second})
	}
	heard := r.listen()
	r.clock.forward(time.Second)
	for _, want := range []string{"2", "2", "2"} {
		assert.Equal(t, want, r.sweepOnce("me")[0])
	}
	require.Eventually(t, func() bool { heard.mu.Lock(); defer heard.mu.Unlock(); return len(heard.events) == 6 }, soon, time.Millisecond)
	assert.Zero(t, r.count("EXISTS", r.n.Hash))
}

// A full server frees what it can.
func TestAFullServerIsSwept(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Version(version))
			r := rigOn(t, server.Client(t), "cache")
			r.put("k", "v", Life{TTL: time.Second, Idle: time.Second})
			r.clock.forward(time.Second)
			r.do("CONFIG", "SET", "maxmemory", "1")
			defer r.do("CONFIG", "SET", "maxmemory", "0")
			for _, write := range []func() error{
				func() error {
					on := []string{r.n.Hash, r.n.Times, r.n.Rests, r.n.Options, r.n.Lease("n")}
					return r.raw.Do(t.Context(), r.raw.B().Eval().Script(Put.Body()).Numkeys(5).Key(on...).Arg("n", packed("v", 0), "", "").Build()).Error()
				},
				func() error {
					return r.raw.Do(t.Context(), r.raw.B().Eval().Script(Swap.Body()).Numkeys(6).Key(r.one("n")...).
						Arg("0", r.now(), "publish", "n", packed("v", 0), "", "").Build()).Error()
				},
			} {
				assert.ErrorContains(t, write(), "OOM", "no write slips through behind one that takes no memory")
			}
			assert.Equal(t, "1", r.sweepOnce("me")[0])
			assert.Zero(t, r.count("EXISTS", r.n.Hash))
		})
	}
}

// A full server is read, and what was read counts as used.
func TestAFullServerIsRead(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Version(version))
			r := rigOn(t, server.Client(t), "cache")
			for _, mode := range []string{"LRU", "LFU"} {
				r.bound(10, mode)
				for i, life := range []Life{{}, {Idle: time.Hour}} {
					r.put("k", "v", life)
					r.clock.forward(time.Second)
					r.do("CONFIG", "SET", "maxmemory", "1")
					now, keys := r.now(), r.n.All()
					reads := []*raw{
						{Get.Body(), keys[:4], []string{now, mode, "k"}},
						{Get.Body(), keys, []string{now, "", "k"}},
					}
					for at, read := range reads {
						assert.NoError(t, read.once(t, r), "%s %d %d", mode, i, at)
					}
					r.do("CONFIG", "SET", "maxmemory", "0")
					want := float64(r.e.Wall())
					if life.Idle > 0 {
						assert.Equal(t, want+3_600_000, r.score(r.n.Rests, "k"))
					}
					if mode == "LFU" {
						want = float64((i + 1) * (1 + len(reads)))
					}
					assert.Equal(t, want, r.score(r.n.Accesses, "k"), mode)
				}
			}
		})
	}
}

// raw is a script that is sent as it is, and once.
type raw struct {
	body string
	keys []string
	args []string
}

func (s *raw) once(t *testing.T, r *rig) error {
	cmd := r.raw.B().Eval().Script(s.body).Numkeys(int64(len(s.keys))).Key(s.keys...).Arg(s.args...).Build()
	return r.raw.Do(t.Context(), cmd).Error()
}

func (r *rig) score(key, member string) float64 {
	r.t.Helper()
	msg := r.do("ZSCORE", key, member)
	n, err := msg.AsFloat64()
	require.NoError(r.t, err)
	return n
}

func TestAnotherKindOfKeyIsAnErrorThatWritesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, key := range append(r.n.All(), r.n.latch) {
		r.do(append([]string{"DEL"}, append(r.n.All(), r.n.latch)...)...)
		r.put("k", "v", Life{TTL: time.Hour, Idle: time.Hour})
		r.bound(10, "LRU")
		r.used("k", "LRU")
		before := r.entry("k")
		r.do("DEL", key)
		r.do("RPUSH", key, "x")
		now := []string{"0", r.now(), r.e.Publish()}
		value := []string{"k", packed("w", 0), "", ""}
		for _, c := range []struct {
			do   func() error
			what string
		}{
			{what: "swap", do: func() error { _, err := r.tried(Swap, r.one("k"), append(now, value...)); return err }},
			{what: "put_many", do: func() error {
				_, err := r.tried(PutMany, r.one("k"), append(now, "", "", "k", packed("w", 0)))
				return err
			}},
			{what: "replace", do: func() error { _, err := r.tried(Replace, r.one("k"), append(now, value...)); return err }},
			{what: "remove", do: func() error { _, err := r.tried(Remove, r.one("k"), append(now, "k")); return err }},
		} {
			err := c.do()
			if key == r.n.latch {
				require.NoError(t, err)
				r.put("k", "v", Life{TTL: time.Hour, Idle: time.Hour})
				continue
			}
			require.ErrorContains(t, err, "WRONGTYPE", "%s, %s", c.what, key)
			if key != r.n.Hash {
				msg := r.do("HGET", r.n.Hash, "k")
				got, err := msg.ToString()
				require.NoError(t, err)
				assert.Equal(t, before.packed, got, "%s, %s", c.what, key)
			}
		}
		seen := make(chan core.Sweep, 10)
		s := sweeperOn(r.e, func(v core.Sweep) { seen <- v })
		s.Expect(&r.n, r.e.Wall())
		require.ErrorContains(t, (<-seen).Err, "WRONGTYPE", key)
		require.Eventually(t, func() bool { return s.Len() == 0 }, soon, time.Millisecond, "there is nothing to come back for")
	}
}

// real is a rig on the machine's clock.
func realRig(t testing.TB, raw rueidis.Client, name string) *rig {
	r := rigOn(t, raw, name)
	r.e = engineOn(t, raw, nil)
	return r
}

func TestWhatExpiresIsToldWhoeverWroteIt(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	name := redistest.Name(t)
	a, b := realRig(t, raw, name), realRig(t, raw, name)
	heard := a.listen()
	first, second := sweeperOn(a.e, nil), sweeperOn(b.e, nil)
	for i := range 6 {
		r, s := a, first
		if i%2 == 1 {
			r, s = b, second // which finds that the other has just swept
		}
		life := Life{TTL: time.Duration(100+50*i) * time.Millisecond}
		r.put(fmt.Sprint(i), "v", life)
		at, _ := life.First(r.e.Wall())
		s.Expect(&r.n, at)
		heard.expect(Event{Created, fmt.Sprint(i), "v", ""}, Event{Expired, fmt.Sprint(i), "v", ""})
	}
	require.Eventually(t, func() bool { return first.Len()+second.Len() == 0 }, soon, time.Millisecond)
}

func TestManyEntriesThatExpireAtOnceGo(t *testing.T) {
	t.Parallel()
	r := realRig(t, redistest.Shared(t).Client(t), redistest.Name(t))
	n := redistest.Count(t, 50_000, 1_000_000)
	ends := strconv.FormatInt(r.e.Wall()+1, 10)
	for first := 0; first < n; first += 500 {
		on, args := r.n.All(), []string{"0", r.now(), r.e.Publish(), ends, ""}
		for i := first; i < first+500; i++ {
			key := fmt.Sprint("entry", i)
			on, args = append(on, r.n.Lease(key)), append(args, key, packed("value", 0))
		}
		r.run(PutMany, on, args...)
	}
	r.put("ever", "v", Life{})
	seen := make(chan core.Sweep, n)
	s := sweeperOn(r.e, func(v core.Sweep) { seen <- v })
	began := time.Now()
	s.Expect(&r.n, r.e.Wall())
	require.Eventually(t, func() bool { return s.Len() == 0 }, time.Minute, 10*time.Millisecond)
	t.Logf("%d entries in %v", n, time.Since(began))
	close(seen)
	gone := int64(0)
	for v := range seen {
		assert.LessOrEqual(t, v.Expired, int64(batch))
		gone += v.Expired
	}
	assert.EqualValues(t, n, gone)
	assert.Equal(t, []string{"ever"}, r.fields())
}

// Somebody writes, others sweep what has expired: what lives stays, whoever's clock is read.
func TestNoLivingEntryIsEverSwept(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	name := redistest.Name(t)
	r := realRig(t, raw, name)
	var sweepers []*Sweeper
	for range 3 {
		sweepers = append(sweepers, sweeperOn(engineOn(t, raw, nil), nil))
	}
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range redistest.Count(t, 150, 3000) {
				key := fmt.Sprint(w, "-", i%5)
				short := Life{TTL: time.Duration(1+i%7) * time.Millisecond, Idle: time.Duration(1+i%3) * time.Millisecond}
				r.put(key, "short", short)
				for _, s := range sweepers {
					s.Expect(&r.n, r.e.Wall())
				}
				if i%2 == 0 {
					r.put(key, "long", Life{TTL: time.Hour, Idle: time.Hour})
				} else {
					r.put(key, "long", Life{})
				}
				if got := r.get(key); got != "long" {
					t.Errorf("%s is %q", key, got)
					return
				}
			}
		})
	}
	all.Wait()
	assert.Len(t, r.fields(), 20)
}

// Names that are used once leave nothing: neither here nor, after their entries, in Redis.
func TestNamesLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := sweeperOn(r.e, nil)
	n := redistest.Count(t, 2000, 1_000_000)
	before := goroutines()
	for i := range n {
		one := *r
		one.n = NamesOf(fmt.Sprint(r.n.Hash, ":", i))
		one.fast("k", "v", Life{TTL: time.Second})
		s.Expect(&one.n, start+1000)
	}
	assert.Equal(t, n, s.Len())
	assert.Less(t, goroutines(), before+n/4, "no goroutine for each: other tests have some")
	r.clock.forward(time.Second)
	require.Eventually(t, func() bool { return s.Len() == 0 }, redistest.Span(t, soon, 10*time.Minute), time.Millisecond)
	for i := range n {
		one := *r
		one.n = NamesOf(fmt.Sprint(r.n.Hash, ":", i))
		if left := one.left(); len(left) > 0 {
			require.Equal(t, []string{one.n.latch}, left, "which ends by itself")
			require.NotEqualValues(t, -1, one.count("PTTL", one.n.latch))
		}
	}
}

func goroutines() int { return runtime.NumGoroutine() }

func TestASweepThatFailsComesAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	r := realRig(t, server.Client(t, func(o *rueidis.ClientOption) { o.InitAddress = []string{proxy.Addr()} }), "cache")
	r.put("k", "v", Life{TTL: time.Millisecond})
	drop := proxy.DropReply(redistest.MatchScript(sweepScript.Body()), 1)
	seen := make(chan core.Sweep, 10)
	s := sweeperOn(r.e, func(v core.Sweep) { seen <- v })
	s.Expect(&r.n, r.e.Wall()+5)
	drop.Await(t)
	require.Eventually(t, func() bool { return s.Len() == 0 }, soon, time.Millisecond)
	assert.Zero(t, r.count("EXISTS", r.n.Hash))
	assert.NoError(t, (<-seen).Err, "a second run is safe")
}

// TestTheBoundComesTrueWhereRepliesAreLost: each script of it may run twice.
func TestTheBoundComesTrueWhereRepliesAreLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, script := range []*scripts.Script{seedScript, evictScript, sweepScript, SetBound} {
		t.Run(script.Name, func(t *testing.T) {
			t.Parallel()
			proxy := redistest.NewProxy(t, server.Addr())
			r := realRig(t, server.Client(t, func(o *rueidis.ClientOption) { o.InitAddress = []string{proxy.Addr()} }), redistest.Name(t))
			for i := range 500 {
				r.put(fmt.Sprint("old", i), "v", Life{})
			}
			heard := r.listen()
			drop := proxy.DropReply(redistest.MatchScript(script.Body()), 1)
			r.bound(100, "LRU")
			r.put("new", "v", Life{})
			s := sweeperOn(r.e, nil)
			s.Expect(&r.n, r.e.Wall())
			drop.Await(t)
			require.Eventually(t, func() bool { return s.Len() == 0 }, soon, time.Millisecond)
			assert.EqualValues(t, 100, r.count("HLEN", r.n.Hash), "not one more has gone")
			assert.Contains(t, r.fields(), "new")
			require.Eventually(t, func() bool { heard.mu.Lock(); defer heard.mu.Unlock(); return len(heard.events) >= 1 }, soon, time.Millisecond)
		})
	}
}
