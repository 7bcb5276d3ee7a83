package latch

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// barrierRig is a barrier, and a look at its keys.
type barrierRig struct {
	*Barrier
	enginetest.Rig
}

func barrierOn(t testing.TB, raw rueidis.Client, name string, parties int, change ...func(*core.Config)) *barrierRig {
	t.Helper()
	r := enginetest.NewRig(t, raw, change...)
	return &barrierRig{NewBarrier(r.E, name, parties), r}
}

func newBarrierRig(t testing.TB, parties int, change ...func(*core.Config)) *barrierRig {
	t.Helper()
	return barrierOn(t, redistest.Shared(t).Client(t), redistest.Name(t), parties, change...)
}

func (r *barrierRig) beside(change ...func(*core.Config)) *barrierRig {
	r.T.Helper()
	return barrierOn(r.T, r.Raw, r.of.key, r.parties, change...)
}

// arrived is how an Await ended.
type arrived struct {
	before int
	err    error
}

func (r *barrierRig) arriving(ctx context.Context) <-chan arrived {
	done := make(chan arrived, 1)
	go func() { // ends with ctx, or when the client closes
		before, err := r.Await(ctx)
		done <- arrived{before, err}
	}()
	return done
}

// waiting blocks until so many wait in this process, and have looked and listen.
func (r *barrierRig) waiting(n int) {
	r.T.Helper()
	require.Eventually(r.T, func() bool {
		return waiting(&r.h.places, r.of.key, n)
	}, soon, time.Millisecond)
}

// together has the last party arrive, and all pass.
func (r *barrierRig) together(others ...<-chan arrived) {
	r.T.Helper()
	before, err := r.Await(context.Background())
	require.NoError(r.T, err)
	numbers := []int{before}
	for _, done := range others {
		a := redistest.Done(r.T, done)
		require.NoError(r.T, a.err)
		numbers = append(numbers, a.before)
	}
	slices.Sort(numbers)
	for i, n := range numbers {
		require.Equal(r.T, i, n)
	}
}

var barrierSuite = map[string]func(t *testing.T, r *barrierRig){ // of 3 parties
	"all pass, again and again": func(t *testing.T, r *barrierRig) {
		other := r.beside()
		for range 3 {
			a := r.arriving(t.Context())
			r.waiting(1)
			b := other.arriving(t.Context())
			other.waiting(1)
			r.together(a, b)
		}
		r.waiting(0)
	},
	"one that leaves breaks it": func(t *testing.T, r *barrierRig) {
		other := r.beside()
		ctx, cancel := context.WithCancelCause(t.Context())
		a, b := r.arriving(ctx), other.arriving(t.Context())
		r.waiting(1)
		other.waiting(1)
		cancel(assert.AnError)
		one := redistest.Done(t, a)
		require.ErrorIs(t, one.err, ErrBroken)
		require.ErrorIs(t, one.err, context.Canceled)
		require.ErrorIs(t, one.err, assert.AnError)
		two := redistest.Done(t, b)
		require.ErrorIs(t, two.err, ErrBroken)
		require.NotErrorIs(t, two.err, context.Canceled)
		a, b = r.arriving(t.Context()), other.arriving(t.Context()) // a new generation
		r.waiting(1)
		other.waiting(1)
		r.together(a, b)
	},
	"waiting and reset": func(t *testing.T, r *barrierRig) {
		other := r.beside()
		waits := func(want int) {
			t.Helper()
			n, err := r.Waiting(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
		resets := func(want bool) {
			t.Helper()
			did, err := r.Reset(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, did)
		}
		waits(0)
		resets(false)
		a, b := r.arriving(t.Context()), other.arriving(t.Context())
		r.waiting(1)
		other.waiting(1)
		waits(2)
		r.Ask("ZADD", r.of.waiting, "1", "dead")
		waits(2)
		r.Ask("ZREM", r.of.waiting, "dead")
		resets(true)
		require.ErrorIs(t, redistest.Done(t, a).err, ErrBroken)
		require.ErrorIs(t, redistest.Done(t, b).err, ErrBroken)
		waits(0)
		resets(false)
		a, b = r.arriving(t.Context()), other.arriving(t.Context())
		r.waiting(1)
		other.waiting(1)
		r.together(a, b)
		waits(0)
	},
	"delete": func(t *testing.T, r *barrierRig) {
		deletes := func(want bool) {
			t.Helper()
			did, err := r.Delete(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, did)
			msg := r.Ask("EXISTS", r.of.key, r.of.waiting)
			n, err := msg.AsInt64()
			require.NoError(t, err)
			require.Zero(t, n)
		}
		deletes(false)
		other := r.beside()
		a, b := r.arriving(t.Context()), other.arriving(t.Context())
		r.waiting(1)
		other.waiting(1)
		deletes(true)
		require.ErrorIs(t, redistest.Done(t, a).err, ErrBroken)
		require.ErrorIs(t, redistest.Done(t, b).err, ErrBroken)
		deletes(false)
		a, b = r.arriving(t.Context()), other.arriving(t.Context()) // a new barrier
		r.waiting(1)
		other.waiting(1)
		r.together(a, b)
		deletes(true)
		deletes(false)
	},
	"one whose lease ends breaks it": func(t *testing.T, r *barrierRig) {
		a := r.arriving(t.Context())
		r.waiting(1)
		r.Ask("ZADD", r.of.waiting, "1", "dead")
		other := r.beside()
		b := other.arriving(t.Context())
		require.ErrorIs(t, redistest.Done(t, a).err, ErrBroken, "by the one that arrives")
		other.waiting(1)
		a = r.arriving(t.Context())
		r.waiting(1)
		r.together(a, b)
	},
	"a client that closes breaks it": func(t *testing.T, r *barrierRig) {
		e, err := locking.New(t.Context(), r.Raw, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: 30 * time.Second})
		require.NoError(t, err)
		other := &barrierRig{NewBarrier(e, r.of.key, 3), enginetest.Rig{T: t, Raw: r.Raw, E: e}}
		a, b := r.arriving(t.Context()), other.arriving(t.Context())
		r.waiting(1)
		other.waiting(1)
		require.NoError(t, locking.Close(t.Context(), e))
		closed := redistest.Done(t, b).err
		require.ErrorIs(t, closed, ErrClosed)
		require.ErrorIs(t, closed, ErrBroken)
		require.ErrorIs(t, redistest.Done(t, a).err, ErrBroken)
		_, err = other.Await(t.Context())
		require.ErrorIs(t, err, ErrClosed)
	},
	"others of another number": func(t *testing.T, r *barrierRig) {
		a := r.arriving(t.Context())
		r.waiting(1)
		two := NewBarrier(r.E, r.of.key, 2)
		_, err := two.Await(t.Context())
		require.ErrorIs(t, err, ErrInvalidArgument)
		require.ErrorContains(t, err, "for 3 parties, not for 2")
		b := r.arriving(t.Context())
		r.waiting(2)
		r.together(a, b)
		one := (&barrierRig{NewBarrier(r.E, r.of.key, 2), enginetest.Rig{T: t, Raw: r.Raw, E: r.E}})
		a = one.arriving(t.Context()) // nobody waits: it may change
		one.waiting(1)
		one.together(a)
		before, err := NewBarrier(r.E, r.of.key, 1).Await(t.Context())
		require.NoError(t, err)
		require.Zero(t, before)
	},
	"another type": func(t *testing.T, r *barrierRig) {
		for say, kind := range map[string]string{"SET": "string", "HSET": "hash of something else", "RPUSH": "list"} {
			r.Ask(append([]string{say, r.of.key}, map[string][]string{"SET": {"1"}, "HSET": {"f", "v"}, "RPUSH": {"v"}}[say]...)...)
			_, err := r.Await(t.Context())
			require.ErrorContains(t, err, r.of.key)
			require.ErrorContains(t, err, kind)
			require.NotErrorIs(t, err, ErrOutcomeUnknown)
			msg := r.Ask("DEL", r.of.key)
			n, err := msg.AsInt64()
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
		}
	},
	"all is forgotten": func(t *testing.T, r *barrierRig) {
		a := r.arriving(t.Context())
		r.waiting(1)
		r.Ask("DEL", r.of.key)
		b := r.arriving(t.Context()) // which begins anew, though the other stands in the set still
		require.ErrorIs(t, redistest.Done(t, a).err, ErrBroken)
		r.waiting(1)
		a = r.arriving(t.Context())
		r.waiting(2)
		r.together(a, b)
	},
	"one whose arrival was evicted is not counted twice": func(t *testing.T, r *barrierRig) {
		a := r.arriving(t.Context())
		r.waiting(1)
		p := &participant{h: r.h, of: r.of, id: "p", parties: 3}
		for range 3 {
			at, err := p.arrive(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, present, at.state)
			require.Equal(t, 2, at.arrived)
			r.Ask("DEL", p.keys()[3])
		}
		_, err := p.arrive(t.Context())
		require.NoError(t, err)
		_, err = p.leave(t.Context())
		require.NoError(t, err)
		require.ErrorIs(t, redistest.Done(t, a).err, ErrBroken)
	},
	"everything goes by itself": func(t *testing.T, r *barrierRig) {
		a := r.arriving(t.Context())
		r.waiting(1)
		b := r.arriving(t.Context())
		r.waiting(2)
		r.ends(r.of.key, r.of.waiting)
		r.together(a, b)
		r.ends(r.of.key, r.of.opened)
		msg := r.Ask("EXISTS", r.of.waiting)
		n, err := msg.AsInt64()
		require.NoError(t, err)
		require.Zero(t, n)
	},
}

// ends checks that the keys have a time to live.
func (r *barrierRig) ends(keys ...string) {
	r.T.Helper()
	for _, key := range keys {
		msg := r.Ask("PTTL", key)
		ttl, err := msg.AsInt64()
		require.NoError(r.T, err)
		require.Greater(r.T, ttl, int64(0), key)
		require.LessOrEqual(r.T, ttl, (r.E.WatchdogTimeout + send.RequestMemory).Milliseconds(), key)
	}
}

func TestBarrierSuite(t *testing.T) {
	t.Parallel()
	redistest.OnEveryServer(t, func(t *testing.T, client func(t testing.TB) rueidis.Client) {
		for name, test := range barrierSuite {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, barrierOn(t, client(t), redistest.Name(t), 3))
			})
		}
	})
}

func TestWhatABarrierCannotUseIsRefusedAndNothingIsSent(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := barrierOn(t, server.Client(t), redistest.Name(t), 3)
	before := server.ScriptCalls(t)
	var none context.Context
	_, err := r.Await(none)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = r.Waiting(none)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = r.Delete(none)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = r.Reset(none)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = NewBarrier(r.E, "", 3).Waiting(t.Context())
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = NewBarrier(r.E, "", 3).Await(t.Context())
	require.ErrorIs(t, err, ErrInvalidArgument)
	for _, n := range []int{0, -1, 1 << 31, -1 << 63} {
		_, err = NewBarrier(r.E, "b", n).Await(t.Context())
		require.ErrorIs(t, err, ErrInvalidArgument, "%d", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.Await(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrBroken)
	require.Equal(t, before, server.ScriptCalls(t))
}

func TestEveryCallOfABarrierPassesWhatTheHeaderNames(t *testing.T) {
	t.Parallel()
	e, rec := enginetest.Recorded(t)
	for _, name := range []string{"phase", "{u1}:phase"} {
		b := NewBarrier(e, name, 2)
		p := &participant{h: b.h, of: b.of, id: e.IDs.Private(), parties: 2}
		_, err := p.arrive(t.Context())
		require.NoError(t, err)
		_, err = p.leave(t.Context())
		require.NoError(t, err)
		g := newWaiters(e, &barrierProtocol{b.h, b.of})
		w := newWaiter()
		w.generation = "7"
		g.enter(w)
		_, _, err = (&barrierProtocol{b.h, b.of}).look(t.Context(), g)
		require.NoError(t, err)
		p.id = e.IDs.Private()
		_, err = p.arrive(t.Context())
		require.NoError(t, err)
		did, err := b.Reset(t.Context())
		require.NoError(t, err)
		require.True(t, did)
		p.id, p.opens = e.IDs.Private(), true
		at, err := p.arrive(t.Context())
		require.NoError(t, err)
		p.generation = at.generation
		_, err = p.pass(t.Context())
		require.NoError(t, err)
		did, err = b.Delete(t.Context())
		require.NoError(t, err)
		require.True(t, did)
		calls := rec.Take()
		require.Equal(t, []string{"arrive.lua", "leave.lua", "watch.lua", "arrive.lua", "waiting.lua", "reset.lua", "arrive.lua", "pass.lua", "waiting.lua", "forget.lua"}, redistest.ScriptNames(calls))
		for _, c := range calls {
			c.Check(t)
			assert.Equal(t, []string{name, keys.BarrierWaiting(name), keys.BarrierOpened(name)}, c.Keys[:3])
			assert.True(t, e.SameSlot(append(c.Keys, b.of.channel)...))
		}
	}
	for _, of := range append(participantRenewal.Apart, participantRenewal) {
		k, args := of.Add(nil, nil, core.Key{Kind: barrierLabel, Name: "phase"}, "c:1", time.Minute)
		require.NoError(t, of.Script.Header().Check(len(k), len(args)), of.Script.Name)
	}
}

// TestPartiesAreRenewed for longer than a lease, also while their keys are apart.
func TestPartiesAreRenewed(t *testing.T) {
	t.Parallel()
	short := func(c *core.Config) { c.WatchdogTimeout = 5 * time.Second } // it outlasts a machine that stands still for a moment
	r := newBarrierRig(t, 3, short)
	other := r.beside(short)
	a, b := r.arriving(t.Context()), other.arriving(t.Context())
	r.waiting(1)
	other.waiting(1)
	time.Sleep(6500 * time.Millisecond)
	require.Empty(t, a)
	require.Empty(t, b)
	r.together(a, b)
}

// TestAPartyThatDiesBreaksItWhenItsLeaseEnds: its client is cut off, and all learn
// it by themselves.
func TestAPartyThatDiesBreaksItWhenItsLeaseEnds(t *testing.T) {
	t.Parallel()
	redistest.Within(t, 10*time.Second, func() time.Duration {
		longest := time.Duration(0)
		server := redistest.Shared(t)
		through, proxy := redistest.ThroughProxy(t, server)
		name := redistest.Name(t)
		dies := barrierOn(t, through, name, 3, func(c *core.Config) { c.WatchdogTimeout = time.Second })
		lives := barrierOn(t, server.Client(t), name, 3)
		a, b := dies.arriving(t.Context()), lives.arriving(t.Context())
		dies.waiting(1)
		lives.waiting(1)
		proxy.BlackHole()
		began := time.Now()
		require.ErrorIs(t, redistest.Done(t, b).err, ErrBroken)
		longest = max(longest, time.Since(began))
		require.ErrorIs(t, redistest.Done(t, a).err, ErrOutcomeUnknown, "it cannot know")
		proxy.Restore()
		return longest
	})
}

// TestRenewalApart: of a slot on the move each key is asked for by itself.
func TestRenewalApart(t *testing.T) {
	t.Parallel()
	r := newBarrierRig(t, 2)
	p := &participant{h: r.h, of: r.of, id: r.E.IDs.Private(), parties: 2}
	_, err := p.arrive(t.Context())
	require.NoError(t, err)
	score := func() float64 {
		msg := r.Ask("ZSCORE", r.of.waiting, p.id)
		n, err := msg.AsFloat64()
		require.NoError(t, err)
		return n
	}
	renew := func(of *lease.Renewal, lease time.Duration) int64 {
		k, args := of.Add(nil, nil, p.Key(), p.id, lease)
		got, err := r.E.Run(t.Context(), of.Script, k, args)
		require.NoError(t, err)
		said, err := got.AsIntSlice()
		require.NoError(t, err)
		require.Len(t, said, 1)
		return said[0]
	}
	for _, of := range append([]*lease.Renewal{participantRenewal}, participantRenewal.Apart...) {
		before := score()
		require.EqualValues(t, 1, renew(of, time.Hour), of.Script.Name)
		require.GreaterOrEqual(t, score(), before)
		require.EqualValues(t, 1, renew(of, time.Second), of.Script.Name)
		require.GreaterOrEqual(t, score(), before, "a lease only grows")
	}
	require.Greater(t, score(), float64(time.Now().Add(30*time.Minute).UnixMilli()))
	r.Ask("ZADD", r.of.waiting, "1", p.id)
	require.Zero(t, renew(participantRenewal, time.Hour), "it was over")
	require.Zero(t, renew(participantRenewal.Apart[0], time.Hour), "it was over")
	left, err := p.leave(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, broken, left.state)
	require.EqualValues(t, 1, renew(participantRenewal, time.Hour), "a look tells how its generation ended")
	r.Ask("DEL", keys.BarrierArrival(r.of.key, p.id))
	require.Zero(t, renew(participantRenewal, time.Hour))
	require.Zero(t, renew(participantRenewal.Apart[1], time.Hour))
}

func (r *barrierRig) sent(s *scripts.Script) redistest.Match {
	return enginetest.SentFor(s, r.of.key)
}

func faultyBarrier(t *testing.T, parties int, change ...func(*core.Config)) (*barrierRig, *redistest.Proxy) {
	t.Helper()
	r, proxy := enginetest.FaultyRig(t, change...)
	return &barrierRig{NewBarrier(r.E, redistest.Name(t), parties), r}, proxy
}

func TestALostReplyOfABarrier(t *testing.T) {
	t.Parallel()
	t.Run("to an arrival", func(t *testing.T) {
		t.Parallel()
		r, proxy := faultyBarrier(t, 3)
		lost := proxy.DropReply(r.sent(arriveScript), 1)
		a := r.arriving(t.Context())
		lost.Await(t)
		r.waiting(1)
		b := r.arriving(t.Context())
		r.waiting(2)
		r.together(a, b)
	})
	t.Run("to a reset, and the next generation is left alone", func(t *testing.T) {
		t.Parallel()
		r, proxy := faultyBarrier(t, 3, enginetest.ShortSends)
		other := barrierOn(t, r.Raw, r.of.key, 3)
		a := other.arriving(t.Context())
		other.waiting(1)
		lost := proxy.DropReply(r.sent(resetScript), 1, redistest.Silent())
		reset := make(chan error, 1)
		go func() {
			did, err := r.Reset(context.Background())
			if err == nil && !did {
				err = assert.AnError
			}
			reset <- err
		}()
		lost.Await(t)
		require.ErrorIs(t, redistest.Done(t, a).err, ErrBroken)
		b := other.arriving(t.Context())
		other.waiting(1)
		require.NoError(t, redistest.Done(t, reset))
		redistest.Waits(t, b)
		n, err := other.Waiting(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		proxy.Restore()
	})
	t.Run("to a reset, and the generation has opened before it is sent again", func(t *testing.T) {
		t.Parallel()
		r, proxy := faultyBarrier(t, 2, enginetest.ShortSends)
		other := barrierOn(t, r.Raw, r.of.key, 2)
		a := other.arriving(t.Context())
		other.waiting(1)
		held := proxy.HoldRequest(r.sent(resetScript))
		type answer struct {
			did bool
			err error
		}
		reset := make(chan answer, 1)
		go func() { // ends with the answer
			did, err := r.Reset(context.Background())
			reset <- answer{did, err}
		}()
		held.Await(t)
		other.together(a)
		require.Equal(t, answer{}, redistest.Done(t, reset))
		held.Release()
	})
	for opens, want := range map[bool]string{true: "its generation has opened", false: "the next barrier is left alone"} {
		t.Run("to a delete, and "+want, func(t *testing.T) {
			t.Parallel()
			r, proxy := faultyBarrier(t, 2, enginetest.ShortSends)
			other := barrierOn(t, r.Raw, r.of.key, 2)
			a := other.arriving(t.Context())
			other.waiting(1)
			deleted := make(chan error, 1)
			begin := func() {
				go func() { // ends with the answer
					did, err := r.Delete(context.Background())
					if err == nil && !did {
						err = assert.AnError
					}
					deleted <- err
				}()
			}
			if opens { // the request did not arrive: the one that is sent again finds another generation
				held := proxy.HoldRequest(r.sent(forgetScript))
				begin()
				held.Await(t)
				other.together(a)
				require.NoError(t, redistest.Done(t, deleted))
				held.Release()
				return
			}
			lost := proxy.DropReply(r.sent(forgetScript), 1, redistest.Silent())
			begin()
			lost.Await(t)
			require.ErrorIs(t, redistest.Done(t, a).err, ErrBroken)
			b := other.arriving(t.Context())
			other.waiting(1)
			require.NoError(t, redistest.Done(t, deleted))
			redistest.Waits(t, b)
			proxy.Restore()
		})
	}
	t.Run("to an arrival that is sent again after another one", func(t *testing.T) {
		t.Parallel()
		r, proxy := faultyBarrier(t, 3, enginetest.ShortSends)
		lost := proxy.DropReply(r.sent(arriveScript), 1, redistest.Silent())
		a := r.arriving(t.Context())
		lost.Await(t)
		other := barrierOn(t, r.Raw, r.of.key, 3)
		b := other.arriving(t.Context())
		other.waiting(1)
		r.waiting(1)
		other.together(a, b)
	})
	t.Run("to the last arrival, whose context ends", func(t *testing.T) {
		t.Parallel()
		for name, answers := range map[string]bool{"the server answers": true, "the server is silent": false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r, proxy := faultyBarrier(t, 2)
				other := barrierOn(t, r.Raw, r.of.key, 2)
				a := other.arriving(t.Context())
				other.waiting(1)
				lost := proxy.DropReply(r.sent(arriveScript), 1, redistest.Silent())
				ctx, cancel := context.WithCancel(t.Context())
				b := r.arriving(ctx)
				lost.Await(t)
				require.NoError(t, redistest.Done(t, a).err)
				if answers {
					proxy.CutAll()
				} else {
					proxy.BlackHole()
				}
				cancel()
				end := redistest.Done(t, b)
				if answers {
					require.NoError(t, end.err)
					require.Equal(t, 1, end.before)
				} else {
					require.ErrorIs(t, end.err, ErrOutcomeUnknown)
					require.ErrorIs(t, end.err, context.Canceled)
					proxy.Restore()
				}
			})
		}
	})
	t.Run("to the last arrival", func(t *testing.T) {
		t.Parallel()
		r, proxy := faultyBarrier(t, 2)
		other := barrierOn(t, r.Raw, r.of.key, 2)
		a := other.arriving(t.Context())
		other.waiting(1)
		lost := proxy.DropReply(r.sent(arriveScript), 1)
		before, err := r.Await(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, before)
		lost.Await(t)
		require.NoError(t, redistest.Done(t, a).err)
	})
	t.Run("to a leave", func(t *testing.T) {
		t.Parallel()
		r, proxy := faultyBarrier(t, 2)
		ctx, cancel := context.WithCancel(t.Context())
		a := r.arriving(ctx)
		r.waiting(1)
		lost := proxy.DropReply(r.sent(leaveScript), 1)
		cancel()
		require.Error(t, redistest.Done(t, a).err)
		lost.Await(t)
		a = r.arriving(t.Context())
		r.waiting(1)
		r.together(a)
	})
	t.Run("and an arrival that comes after its party has left", func(t *testing.T) {
		t.Parallel()
		r, proxy := faultyBarrier(t, 2, enginetest.ShortSends)
		held := proxy.HoldRequest(r.sent(arriveScript))
		ctx, cancel := context.WithCancel(t.Context())
		a := r.arriving(ctx)
		held.Await(t)
		cancel()
		require.ErrorIs(t, redistest.Done(t, a).err, context.Canceled)
		proxy.AwaitCount(t, r.sent(leaveScript), 1)
		require.Eventually(t, func() bool {
			all, err := r.Raw.Do(context.Background(), r.Raw.B().Keys().Pattern("{"+r.of.key+"}:arrival:*").Build()).AsStrSlice()
			return err == nil && len(all) == 1
		}, soon, 5*time.Millisecond)
		held.Release()
		proxy.AwaitCount(t, r.sent(arriveScript), 1)
		b := r.arriving(t.Context())
		r.waiting(1)
		c := r.arriving(t.Context())
		require.NoError(t, redistest.Done(t, b).err)
		require.NoError(t, redistest.Done(t, c).err)
	})
}

// TestAMessageOfABarrierThatIsLost: at the first look when the subscription stands
// again, and else at the next one.
func TestAMessageOfABarrierThatIsLost(t *testing.T) {
	t.Parallel()
	t.Run("with the connection", func(t *testing.T) {
		t.Parallel()
		seldom := func(c *core.Config) { c.WatchdogTimeout = 10 * time.Minute } // else a renewal finds it out
		r, proxy := faultyBarrier(t, 2, enginetest.NoLooks, seldom)
		a := r.arriving(t.Context())
		r.waiting(1)
		proxy.Refuse()
		proxy.CutAll()
		_, err := barrierOn(t, r.Raw, r.of.key, 2).Await(t.Context())
		require.NoError(t, err)
		proxy.Accept()
		require.NoError(t, redistest.Done(t, a).err)
	})
	t.Run("by itself", func(t *testing.T) {
		t.Parallel()
		redistest.Within(t, 10*time.Second, func() time.Duration {
			longest := time.Duration(0)
			r := newBarrierRig(t, 2)
			a := r.arriving(t.Context())
			r.waiting(1)
			r.of.channel += "x" // the last one's message goes astray
			other := r.beside()
			other.of.channel += "x"
			_, err := other.Await(t.Context())
			require.NoError(t, err)
			began := time.Now()
			require.NoError(t, redistest.Done(t, a).err)
			longest = max(longest, time.Since(began))
			return longest
		})
	})
}

// TestAFullServerRefusesArrivals, and lets those leave who wait.
func TestAFullServerRefusesArrivals(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := barrierOn(t, server.Client(t), redistest.Name(t), 3, enginetest.ShortSends)
	ctx, cancel := context.WithCancel(t.Context())
	a, b := r.arriving(ctx), r.arriving(t.Context())
	r.waiting(2)
	r.Ask("CONFIG", "SET", "maxmemory", "1")
	short, done := context.WithTimeout(t.Context(), time.Second)
	defer done()
	_, err := r.Await(short)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "OOM")
	require.Empty(t, a)
	cancel()
	require.ErrorIs(t, redistest.Done(t, a).err, ErrBroken)
	require.ErrorIs(t, redistest.Done(t, b).err, ErrBroken)
}

func TestNothingOfABarrierStaysBehind(t *testing.T) {
	t.Parallel()
	r := newBarrierRig(t, 1)
	for range 1000 {
		name := redistest.Name(t)
		_, err := NewBarrier(r.E, name, 1).Await(t.Context())
		require.NoError(t, err)
		r.ends(name, keys.BarrierOpened(name))
	}
	require.Zero(t, r.h.places.Len())
}
