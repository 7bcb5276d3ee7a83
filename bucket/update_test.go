package bucket

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func increment(old int, _ bool) (int, Verdict, error) { return old + 1, Store, nil }

// queued returns how many wait for the next turn of a bucket.
func queued[T any](b *Bucket[T]) int {
	waiting, _ := b.b.h.updates.Look(place{key: b.b.Key, lifetime: lifetime{keep: true}})
	return waiting
}

// TestNoUpdateIsLost of several clients, each with several goroutines.
func TestNoUpdateIsLost(t *testing.T) {
	t.Parallel()
	redistest.OnEveryServer(t, func(t *testing.T, client func(t testing.TB) rueidis.Client) {
		raw := client(t)
		name := fresh(t, raw)
		rounds := redistest.Count(t, 10, 1000)
		var all sync.WaitGroup
		for range 3 {
			b := New[int](enginetest.On(t, raw), name)
			for range 8 {
				all.Go(func() {
					for range rounds {
						_, _, err := b.Update(t.Context(), increment)
						assert.NoError(t, err)
					}
				})
			}
		}
		all.Wait()
		n, _, err := New[int](enginetest.On(t, raw), name).Get(t.Context())
		require.NoError(t, err)
		require.Equal(t, 24*rounds, n)
	})
}

// holdsTurn has a turn of a bucket wait until release is called.
func holdsTurn[T any](t *testing.T, b *Bucket[T]) (release func()) {
	t.Helper()
	began, open, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() { // ends with the release
		_, _, err := b.Update(t.Context(), func(old T, _ bool) (T, Verdict, error) {
			close(began)
			<-open
			return old, Keep, nil
		})
		ended <- err
	}()
	<-began
	return func() {
		close(open)
		require.NoError(t, redistest.Done(t, ended))
	}
}

// TestUpdatesGoOutTogether in their order: one read and one write for all that wait.
func TestUpdatesGoOutTogether(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := redistest.ThroughProxy(t, server)
	b := New[string](enginetest.Plain(t, client), fresh(t, server.Client(t)), WithCodec(codec.Text))
	release := holdsTurn(t, b)
	proxy.ResetLog()
	type result struct {
		i   int
		v   string
		err error
	}
	mine := errors.New("mine alone")
	results := make(chan result, 10)
	for i := range 10 {
		go func() { // ends with the turn
			v, _, err := b.Update(t.Context(), func(old string, _ bool) (string, Verdict, error) {
				if i == 5 {
					return "lost", Store, mine
				}
				return old + fmt.Sprint(i), Store, nil
			})
			results <- result{i, v, err}
		}()
		redistest.Eventually(t, func() bool { return queued(b) == i+1 }, redistest.Soon, time.Millisecond)
	}
	release()
	want := []string{"0", "01", "012", "0123", "01234", "", "012346", "0123467", "01234678", "012346789"}
	for range 10 {
		r := <-results
		if r.i == 5 {
			require.ErrorIs(t, r.err, mine)
			continue
		}
		require.NoError(t, r.err)
		require.Equal(t, want[r.i], r.v)
	}
	require.LessOrEqual(t, proxy.Count(redistest.Arg(b.Name())), 3, "a read, and a write, which the server may not know")
}

// TestAPanicIsItsCallersAlone and so is the end of a goroutine.
func TestAPanicIsItsCallersAlone(t *testing.T) {
	t.Parallel()
	b := New[int](enginetest.On(t, redistest.Shared(t).Client(t)), fresh(t, redistest.Shared(t).Client(t)))
	release := holdsTurn(t, b)
	panics, ended := make(chan any, 3), make(chan bool, 3)
	for i := range 3 {
		go func() { // ends with the turn
			returned := false
			defer func() {
				panics <- recover()
				ended <- !returned
			}()
			_, _, err := b.Update(t.Context(), func(old int, _ bool) (int, Verdict, error) {
				switch i {
				case 0:
					panic(assert.AnError)
				case 1:
					runtime.Goexit()
				}
				return old + 1, Store, nil
			})
			returned = true
			assert.NoError(t, err)
		}()
		redistest.Eventually(t, func() bool { return queued(b) == i+1 }, redistest.Soon, time.Millisecond)
	}
	release()
	panicked, gone := 0, 0
	for range 3 {
		if r := redistest.Done(t, panics); r != nil {
			panicked++
			err, _ := r.(error)
			require.ErrorIs(t, err, assert.AnError)
		}
		if <-ended {
			gone++
		}
	}
	require.Equal(t, 1, panicked)
	require.Equal(t, 2, gone)
	n, _, err := b.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

// TestAPanicThatNoCallerGetsIsLogged since its caller has left.
func TestAPanicThatNoCallerGetsIsLogged(t *testing.T) {
	t.Parallel()
	var log enginetest.Log
	raw := redistest.Shared(t).Client(t)
	b := New[int](enginetest.On(t, raw, log.To), fresh(t, raw))
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	_, _, err := b.Update(ctx, func(int, bool) (int, Verdict, error) {
		cancel()
		<-left
		panic("late")
	})
	close(left)
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	redistest.Eventually(t, func() bool { return log.Has("late") && log.Has(b.Name()) }, redistest.Soon, time.Millisecond)
}

// TestAnUpdateThatIsLeft before its turn does not run, and after that is unknown.
func TestAnUpdateThatIsLeft(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	b := New[int](enginetest.On(t, raw), fresh(t, raw))
	began, open, errs := make(chan struct{}), make(chan struct{}), make(chan error, 2)
	slow, leave := context.WithCancel(t.Context())
	go func() { // ends with the context
		_, _, err := b.Update(slow, func(old int, _ bool) (int, Verdict, error) {
			close(began)
			<-open
			return old + 1, Store, nil
		})
		errs <- err
	}()
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends with the context
		_, _, err := b.Update(ctx, func(int, bool) (int, Verdict, error) {
			t.Error("it was called")
			return 0, Keep, nil
		})
		errs <- err
	}()
	redistest.Eventually(t, func() bool { return queued(b) == 1 }, redistest.Soon, time.Millisecond)
	cancel()
	err := <-errs
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrOutcomeUnknown)
	leave()
	err = <-errs
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	close(open)
	n, _, err := b.Update(t.Context(), increment)
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

// TestNoUpdateIsAnsweredFromWhatWasNotWritten: whoever rests on what others of the turn have made has the error of the
// write, also where its function had an error of its own, or panicked.
func TestNoUpdateIsAnsweredFromWhatWasNotWritten(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		refuse func(t *testing.T, s *redistest.Server, p *redistest.Proxy)
		want   func(t *testing.T, err error)
	}{
		"OOM": {
			func(_ *testing.T, s *redistest.Server, _ *redistest.Proxy) { s.Refuse(redistest.OutOfMemory) },
			func(t *testing.T, err error) { require.ErrorContains(t, err, "OOM") },
		},
		"lost reply": {
			func(_ *testing.T, _ *redistest.Server, p *redistest.Proxy) { p.DropReply(script(changeScript), 1) },
			func(t *testing.T, err error) { require.ErrorIs(t, err, ErrOutcomeUnknown) },
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			client, proxy := redistest.ThroughProxy(t, server)
			e := enginetest.On(t, client)
			b := New[string](e, "seat")
			_, _, err := New[string](e, "warm").Update(t.Context(), longer) // the script is known
			require.NoError(t, err)
			release := holdsTurn(t, b)
			own, taken := errors.New("of what was read"), errors.New("taken by ann")
			type outcome struct {
				who   string
				err   error
				panic any
			}
			outcomes := make(chan outcome, 5)
			for i, one := range []struct {
				who string
				f   func(old string, had bool) (string, Verdict, error)
			}{
				{"early", func(string, bool) (string, Verdict, error) { return "", Keep, own }},
				{"ann", func(string, bool) (string, Verdict, error) { return "ann", Store, nil }},
				{"bob", func(old string, _ bool) (string, Verdict, error) {
					if old == "ann" {
						return "", Keep, taken
					}
					return "bob", Store, nil
				}},
				{"carol", func(old string, _ bool) (string, Verdict, error) {
					if old == "ann" {
						panic("taken")
					}
					return "carol", Store, nil
				}},
				{"dora", func(old string, _ bool) (string, Verdict, error) { return old, Keep, nil }},
			} {
				go func() { // ends with the turn
					o := outcome{who: one.who}
					defer func() {
						o.panic = recover()
						outcomes <- o
					}()
					_, _, o.err = b.Update(t.Context(), one.f)
				}()
				redistest.Eventually(t, func() bool { return queued(b) == i+1 }, redistest.Soon, time.Millisecond)
			}
			c.refuse(t, server, proxy)
			release()
			for range 5 {
				o := redistest.Done(t, outcomes)
				require.Nil(t, o.panic, o.who)
				if o.who == "early" {
					require.ErrorIs(t, o.err, own, "it rests on what was there")
					continue
				}
				require.Error(t, o.err, o.who)
				require.NotErrorIs(t, o.err, taken, o.who)
				c.want(t, o.err)
			}
		})
	}
}

// TestUpdateOfAClientFarAwayIsNotStarved by others that are near the server.
func TestUpdateOfAClientFarAwayIsNotStarved(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	through, proxy := redistest.ThroughProxy(t, server)
	near, far := New[int](enginetest.On(t, server.Client(t)), "b"), New[int](enginetest.On(t, through), "b")
	_, _, err := far.Update(t.Context(), increment)
	require.NoError(t, err)
	proxy.Delay(20*time.Millisecond, 20*time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	var done atomic.Int64
	for range 2 {
		all.Go(func() { // ends with ctx
			for ctx.Err() == nil {
				if _, _, err := near.Update(ctx, increment); err == nil {
					done.Add(1)
				} else {
					assert.ErrorIs(t, err, context.Canceled)
				}
			}
		})
	}
	redistest.Eventually(t, func() bool { return done.Load() > 10 }, redistest.Soon, time.Millisecond)
	calls, before := 0, done.Load()
	const rounds = 5
	for range rounds {
		_, _, err := far.Update(t.Context(), func(old int, _ bool) (int, Verdict, error) {
			calls++
			return old + 1, Store, nil
		})
		require.NoError(t, err)
	}
	require.LessOrEqual(t, calls, 4*rounds, "without a claim that lasts there would be a hundred")
	require.Greater(t, done.Load(), before+rounds, "the others go on, too")
	stop()
	all.Wait()
	proxy.Delay(0, 0)
	redistest.Eventually(t, func() bool {
		msg := redistest.Do(t, server.Client(t), "EXISTS", site{near.b.h, place{key: "b"}}.Claim())
		n, err := msg.AsInt64()
		return err == nil && n == 0
	}, redistest.Soon, time.Millisecond, "no claim is left")
}

// TestUpdateStandsBackForAClaim, as long as it is there, and no longer. Set and compare and swap do not.
func TestUpdateStandsBackForAClaim(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		b := New[int](enginetest.On(t, raw), fresh(t, raw))
		claim := site{b.b.h, place{key: b.Name()}}.Claim()
		redistest.Do(t, raw, "SET", claim, "another")
		done, calls := make(chan error, 1), 0
		go func() { // ends with the claim
			_, _, err := b.Update(t.Context(), func(old int, _ bool) (int, Verdict, error) { calls++; return old + 1, Store, nil })
			done <- err
		}()
		redistest.Waits(t, done)
		redistest.Do(t, raw, "DEL", claim)
		require.NoError(t, redistest.Done(t, done))
		require.Equal(t, 1, calls, "nothing has changed under it")
		v, _, err := b.Get(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, v)
		redistest.Do(t, raw, "SET", claim, "another", "PX", "60000")
		require.NoError(t, b.Set(t.Context(), 2))
		did, err := b.CompareAndSwap(t.Context(), 2, 3)
		require.NoError(t, err)
		require.True(t, did)
		redistest.Do(t, raw, "DEL", claim)
	})
}

// TestUpdateReadsWhereTheReplyToItsClaimIsLost: the look that claims a bucket is sent once.
func TestUpdateReadsWhereTheReplyToItsClaimIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := redistest.ThroughProxy(t, server)
	b := New[int](enginetest.On(t, client), fresh(t, server.Client(t)))
	_, _, err := b.Update(t.Context(), increment)
	require.NoError(t, err)
	at := place{key: b.b.Key, lifetime: lifetime{keep: true}}
	b.b.h.updates.Contest(at).Sticks.Store(int64(b.b.Engine.Mono() + time.Hour)) // others were faster for long
	lost := proxy.DropReply(script(changeScript), 1)                             // which looks first
	v, _, err := b.Update(t.Context(), increment)
	require.NoError(t, err, "nothing was written that may be unknown")
	require.Equal(t, 2, v)
	require.Equal(t, 1, lost.Dropped())
}

// TestUpdateKeepsWhatItWasNotAskedToChange has verdicts that write nothing.
func TestUpdateKeepsWhatItWasNotAskedToChange(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	b := New[string](enginetest.On(t, raw, func(c *core.Config) { c.MaxValue = 1000 }), fresh(t, raw), WithCodec(codec.Text))
	old(t, raw, b.Name())
	for what, f := range map[string]func(string, bool) (string, Verdict, error){
		"keep":            func(string, bool) (string, Verdict, error) { return "new", Keep, nil },
		"an error":        func(string, bool) (string, Verdict, error) { return "new", Store, assert.AnError },
		"no verdict":      func(string, bool) (string, Verdict, error) { return "new", 9, nil },
		"what is no text": func(string, bool) (string, Verdict, error) { return "\xff", Store, nil },
		"what is long":    func(string, bool) (string, Verdict, error) { return string(make([]byte, 1001)), Store, nil },
	} {
		v, there, err := b.Update(t.Context(), f)
		if what == "keep" {
			require.NoError(t, err)
			require.True(t, there)
			require.Equal(t, "old", v)
		} else {
			require.Error(t, err, what)
			require.False(t, there)
		}
		require.Equal(t, "old hour", state(t, raw, b.Name()), what)
	}
}
