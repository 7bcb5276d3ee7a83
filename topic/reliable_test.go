package topic

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// reliableRig is a reliable topic, and a look at its keys.
type reliableRig struct {
	*Reliable[string]
	t   testing.TB
	raw rueidis.Client
	e   *locking.Engine
}

func reliableOn(t testing.TB, raw rueidis.Client, name string, opts ...Option) *reliableRig {
	t.Helper()
	return reliableBy(t, raw, engineOn(t, raw), name, opts...)
}

func reliableBy(t testing.TB, raw rueidis.Client, e *locking.Engine, name string, opts ...Option) *reliableRig {
	t.Helper()
	r := &reliableRig{NewReliable[string](e, name, opts...), t, raw, e}
	t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(r.of.key, r.of.timeout).Build()) })
	return r
}

func (r *reliableRig) publishes(groups int64, v ...string) {
	r.t.Helper()
	for _, v := range v {
		n, err := r.Publish(r.t.Context(), v)
		require.NoError(r.t, err)
		require.Equal(r.t, groups, n)
	}
}

type reliably struct{ *ReliableSubscription[string] }

func (r *reliableRig) listening() reliably {
	r.t.Helper()
	s, err := redistest.Patient(func() (*ReliableSubscription[string], error) { return r.Listen(r.t.Context()) })
	require.NoError(r.t, err)
	r.t.Cleanup(s.Close)
	return reliably{s}
}

func (r *reliableRig) durable(name string) reliably {
	r.t.Helper()
	s, err := redistest.Patient(func() (*ReliableSubscription[string], error) { return r.Durable(name).Listen(r.t.Context()) })
	require.NoError(r.t, err)
	r.t.Cleanup(s.Close)
	return reliably{s}
}

// notice reads a notice.
func (s reliably) notice(t testing.TB) (notice error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	for _, notice = range s.Messages(ctx) {
		break
	}
	require.ErrorIs(t, notice, core.ErrNotice)
	return notice
}

// ofConnection reports whether a loop was told that the connection is lost, or is back.
func ofConnection(err error) bool {
	return errors.Is(err, ErrDisconnected) || errors.Is(err, ErrReconnected)
}

// next handles n, and takes no notice of lost connections.
func (s reliably) next(t testing.TB, n int) (all []heard) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	done := fmt.Errorf("it has handled %d", n)
	ended, end := context.WithCancelCause(ctx)
	for v, err := range s.Messages(ended) {
		if ofConnection(err) {
			continue
		}
		if len(all) == n {
			break
		}
		require.NotErrorIs(t, err, context.DeadlineExceeded, "after %d of %d", len(all), n)
		if all = append(all, heard{v, err}); len(all) == n {
			end(done) // the loop asks for the next, and is over
		}
	}
	end(nil)
	return all
}

func (s reliably) hears(t testing.TB, want ...string) {
	t.Helper()
	for i, h := range s.next(t, len(want)) {
		require.NoError(t, h.err)
		require.Equal(t, want[i], h.text)
	}
}

func (r *reliableRig) awaitLen(n int64) {
	r.t.Helper()
	redistest.Eventually(r.t, func() bool {
		got, err := r.Len(r.t.Context())
		require.NoError(r.t, err)
		return got == n
	}, soon, 5*time.Millisecond, "never %d messages", n)
}

func (r *reliableRig) exists() int64 {
	r.t.Helper()
	n, err := r.raw.Do(r.t.Context(), r.raw.B().Exists().Key(r.of.key, r.of.timeout).Build()).AsInt64()
	require.NoError(r.t, err)
	return n
}

// reliableSuite runs on every server and on a cluster.
var reliableSuite = map[string]func(t *testing.T, raw rueidis.Client, name string){
	"all subscribers handle all": func(t *testing.T, raw rueidis.Client, name string) {
		r, other := reliableOn(t, raw, name), reliableOn(t, raw, name)
		one, two, three := r.listening(), r.listening(), other.listening()
		require.Equal(t, 2, r.CountListeners())
		n, err := r.CountSubscribers(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		r.publishes(2, numbers(0, 200)...)
		for _, s := range []reliably{one, two, three} {
			s.hears(t, numbers(0, 200)...)
		}
		r.awaitLen(0)
		one.Close()
		two.Close()
		three.Close()
		redistest.Eventually(t, func() bool { return r.exists() == 0 }, soon, 5*time.Millisecond, "keys are left")
	},
	"more than may be on their way": func(t *testing.T, raw rueidis.Client, name string) {
		r := reliableOn(t, raw, name)
		s := r.listening()
		r.adds(numbers(0, 3*window)...)
		s.hears(t, numbers(0, 3*window)...)
		r.awaitLen(0)
	},
	"who comes later gets what is left": func(t *testing.T, raw rueidis.Client, name string) {
		r := reliableOn(t, raw, name)
		r.publishes(0, "a", "b")
		r.listening().hears(t, "a", "b")
	},
	"what nobody has handled is kept": func(t *testing.T, raw rueidis.Client, name string) {
		r, slow := reliableOn(t, raw, name), reliableOn(t, raw, name)
		quick, s := r.listening(), slow.listening()
		r.publishes(2, numbers(0, 20)...)
		quick.hears(t, numbers(0, 20)...)
		s.hears(t, numbers(0, 5)...)
		r.awaitLen(15)
		s.hears(t, numbers(5, 20)...)
		r.awaitLen(0)
	},
	"a loop that is left gets its message again": func(t *testing.T, raw rueidis.Client, name string) {
		r := reliableOn(t, raw, name)
		s := r.listening()
		r.publishes(1, "a", "b")
		for v, err := range s.Messages(t.Context()) {
			require.NoError(t, err)
			require.Equal(t, "a", v)
			break
		}
		s.hears(t, "a", "b")
	},
	"a durable name hears what it was away for": func(t *testing.T, raw rueidis.Client, name string) {
		r := reliableOn(t, raw, name, WithMaxLength(1000))
		s := r.durable("billing")
		r.publishes(1, "a")
		s.hears(t, "a")
		s.Close()
		r.publishes(1, "b", "c")
		again := reliableOn(t, raw, name, WithMaxLength(1000)).durable("billing")
		again.hears(t, "b", "c")
		score, err := raw.Do(t.Context(), raw.B().Zscore().Key(r.of.timeout).Member("billing").Build()).AsFloat64()
		require.NoError(t, err)
		require.Equal(t, 92233720368547758.0, score)
		r.awaitLen(0) // else what nobody has use for is left for who comes
		again.Close()
		there, err := r.Durable("billing").Drop(t.Context())
		require.NoError(t, err)
		require.True(t, there)
		there, err = r.Durable("billing").Drop(t.Context())
		require.NoError(t, err)
		require.False(t, there)
		require.Zero(t, r.exists())
	},
	"what a durable name has not handled comes again at once": func(t *testing.T, raw rueidis.Client, name string) {
		r := reliableOn(t, raw, name, WithMaxLength(1000))
		s := r.durable("billing")
		r.publishes(1, "a", "b", "c")
		for v := range s.Messages(t.Context()) {
			if v == "b" {
				break
			}
		}
		s.Close()
		got := reliableOn(t, raw, name, WithMaxLength(1000)).durable("billing").next(t, 2)
		require.ElementsMatch(t, []heard{{text: "b"}, {text: "c"}}, got)
	},
	"a bound forgets the oldest": func(t *testing.T, raw rueidis.Client, name string) {
		r := reliableOn(t, raw, name, WithMaxLength(3))
		r.publishes(0, numbers(0, 10)...)
		r.awaitLen(3)
		r.listening().hears(t, "7", "8", "9")
	},
	"who was deleted begins anew": func(t *testing.T, raw rueidis.Client, name string) {
		r := reliableOn(t, raw, name)
		s := r.listening()
		r.publishes(1, "a")
		s.hears(t, "a")
		there, err := r.Delete(t.Context())
		require.NoError(t, err)
		require.True(t, there)
		require.ErrorIs(t, s.next(t, 1)[0].err, ErrInterrupted)
		r.publishes(1, "b")
		s.hears(t, "b")
	},
	"who has lost its group is told, and begins with what there is": func(t *testing.T, raw rueidis.Client, name string) {
		r, other := reliableOn(t, raw, name), reliableOn(t, raw, name)
		s, second := r.listening(), other.listening()
		r.publishes(2, "a", "b")
		s.hears(t, "a", "b")
		redistest.Eventually(t, func() bool { return r.inHand() == 0 }, soon, time.Millisecond)
		require.NoError(t, raw.Do(t.Context(), raw.B().XgroupDestroy().Key(name).Group(r.r.group).Build()).Error())
		got := s.next(t, 3)
		require.ErrorIs(t, got[0].err, ErrInterrupted)
		require.Equal(t, []heard{{text: "a"}, {text: "b"}}, got[1:])
		second.hears(t, "a", "b")
		r.awaitLen(0)
	},
	"what is no message is told, and handled": func(t *testing.T, raw rueidis.Client, name string) {
		r := reliableOn(t, raw, name)
		numbers, err := NewReliable[int](r.e, name).Listen(t.Context())
		require.NoError(t, err)
		defer numbers.Close()
		r.publishes(1, "no number")
		require.NoError(t, raw.Do(t.Context(), raw.B().Xadd().Key(r.of.key).Id("*").FieldValue().FieldValue("other", "x").Build()).Error())
		r.publishes(1, "1")
		n := 0
		for v, err := range numbers.Messages(t.Context()) {
			if n++; n == 3 {
				require.NoError(t, err)
				require.Equal(t, 1, v)
				break
			}
			var undecoded *codec.DecodeError
			require.ErrorAs(t, err, &undecoded)
			require.Equal(t, r.Name(), undecoded.Name)
			require.NotEmpty(t, undecoded.Key)
		}
		r.awaitLen(1)
	},
	"the group of who died is taken away": func(t *testing.T, raw rueidis.Client, name string) {
		r := reliableOn(t, raw, name)
		for _, cmd := range []rueidis.Completed{
			raw.B().XgroupCreate().Key(r.of.key).Group("dead").Id("0").Mkstream().Build(),
			raw.B().Zadd().Key(r.of.timeout).ScoreMember().ScoreMember(float64(time.Now().Add(-time.Second).UnixMilli()), "dead").Build(),
		} {
			require.NoError(t, raw.Do(t.Context(), cmd).Error())
		}
		s := r.listening()
		r.publishes(2, "a")
		s.hears(t, "a")
		r.awaitLen(0)
		n, err := r.CountSubscribers(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
	},
}

func TestReliable(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		for what, test := range reliableSuite {
			t.Run(what, func(t *testing.T) { test(t, raw, redistest.Name(t)) })
		}
	})
}

// TestOneConnectionReadsAllTopics, and Close leaves neither goroutines nor groups.
func TestOneConnectionReadsAllTopics(t *testing.T) {
	t.Parallel()
	redistest.Within(t, soon, func() time.Duration {
		server := redistest.Start(t)
		raw := server.Client(t)
		e := engineOn(t, raw)
		before := server.Connections(t)
		var all []reliably
		for i := range 100 {
			r := reliableBy(t, raw, e, "orders"+strconv.Itoa(i))
			all = append(all, r.listening())
		}
		for i, s := range all {
			r := reliableBy(t, raw, e, "orders"+strconv.Itoa(i))
			_, err := r.Publish(t.Context(), strconv.Itoa(i))
			require.NoError(t, err)
			s.hears(t, strconv.Itoa(i))
		}
		blocked, err := raw.Do(t.Context(), raw.B().ClientList().Build()).ToString()
		require.NoError(t, err)
		require.Less(t, server.Connections(t), before+8, blocked) // those that rueidis spreads commands over
		began := time.Now()
		require.NoError(t, locking.Close(t.Context(), e))
		took := time.Since(began)
		for _, err := range all[0].Messages(t.Context()) {
			require.ErrorIs(t, err, ErrClosed)
		}
		n, err := raw.Do(t.Context(), raw.B().Dbsize().Build()).AsInt64()
		require.NoError(t, err)
		lanes, err := raw.Do(t.Context(), raw.B().Keys().Pattern("rueidisson_lane*").Build()).AsStrSlice()
		require.NoError(t, err)
		require.EqualValues(t, len(lanes), n, "what stays are the lanes, for 45 s")
		return took
	})
}

// TestNothingIsLostWhereConnectionsBreak and nothing comes twice to a process that
// lives.
func TestNothingIsLostWhereConnectionsBreak(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	name, n := redistest.Name(t), redistest.Count(t, 500, 20_000)
	raw := server.Client(t)
	s := reliableBy(t, raw, engineOn(t, client), name).listening()
	r := reliableOn(t, raw, name)
	var all sync.WaitGroup
	all.Go(func() {
		for i := range n {
			_, err := r.Publish(t.Context(), strconv.Itoa(i))
			assert.NoError(t, err)
		}
	})
	for i := range 10 {
		want := make([]string, 0, n/10)
		for k := i * n / 10; k < (i+1)*n/10; k++ {
			want = append(want, strconv.Itoa(k))
		}
		got := s.next(t, len(want))
		texts := make([]string, len(got))
		for k := range got {
			require.NoError(t, got[k].err)
			texts[k] = got[k].text
		}
		require.ElementsMatch(t, want, texts)
		proxy.CutAll()
	}
	all.Wait()
	r.awaitLen(0)
}

// TestALostReplyOfEachScript of a reliable topic, once: what was done is done once.
func TestALostReplyOfEachScript(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for _, s := range []struct {
		what string
		of   redistest.Match
	}{
		{"publish", redistest.MatchScript(publishScript.Body())},
		{"join", redistest.MatchScript(joinScript.Body())},
		{"settle", redistest.MatchScript(settleScript.Body())},
		{"leave", redistest.MatchScript(leaveScript.Body())},
		{"read", redistest.Command("XREADGROUP")},
		{"claim", redistest.MatchScript(claimScript.Body())},
	} {
		t.Run(s.what, func(t *testing.T) {
			t.Parallel()
			client, proxy := through(t, server)
			raw := server.Client(t)
			r := reliableBy(t, raw, engineOn(t, client), redistest.Name(t))
			lost := proxy.DropReply(redistest.All(s.of, redistest.Arg(r.of.key)), 1)
			sub := r.listening()
			r.publishes(1, "a", "b")
			sub.hears(t, "a", "b")
			r.awaitLen(0)
			sub.Close()
			redistest.Eventually(t, func() bool { return r.exists() == 0 }, soon, 5*time.Millisecond)
			lost.Await(t)
		})
	}
}

// TestAPublishThatComesLateIsRefused since its caller was told that it is unknown, or
// has published more meanwhile.
func TestAPublishThatComesLate(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	r := reliableOn(t, raw, redistest.Name(t))
	run := func(number, text string) []int64 {
		got, err := r.e.Run(t.Context(), publishScript, []string{r.of.key, r.of.lane + ":0"}, []string{number, send.MemoryMillis, "0", "0", text})
		require.NoError(t, err)
		said, err := got.AsIntSlice()
		require.NoError(t, err)
		return said
	}
	require.Equal(t, []int64{0, 1}, run("5", "a"))
	require.Equal(t, []int64{0, 1}, run("5", "a"), "again")
	require.Equal(t, []int64{-1}, run("4", "late"))
	r.awaitLen(1)
}

// TestAMembershipThatComesLate makes no group of who has left, and takes none away
// from who has come back.
func TestAMembershipThatComesLate(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	r := reliableOn(t, raw, redistest.Name(t))
	run := func(of *scripts.Script, number string, more ...string) int64 {
		got, err := r.e.Run(t.Context(), of, []string{r.of.key, r.of.lane + ":4", r.of.timeout, r.of.holders}, append([]string{number, send.MemoryMillis, "group"}, more...))
		require.NoError(t, err)
		said, err := got.AsIntSlice()
		require.NoError(t, err)
		require.Len(t, said, 1)
		return said[0]
	}
	until := strconv.FormatInt(time.Now().Add(time.Minute).UnixMilli(), 10)
	require.EqualValues(t, 1, run(joinScript, "5", until))
	require.EqualValues(t, 1, run(joinScript, "5", until), "again")
	require.EqualValues(t, -1, run(leaveScript, "4"), "late")
	require.EqualValues(t, 2, r.exists())
	require.EqualValues(t, 1, run(leaveScript, "6"))
	require.EqualValues(t, 1, run(leaveScript, "6"), "again")
	require.EqualValues(t, -1, run(joinScript, "5", until), "late")
	require.Zero(t, r.exists())
	kept, err := r.e.Run(t.Context(), keepScript, []string{r.of.timeout}, []string{"group", until})
	n, err := send.Number(kept, err)
	require.NoError(t, err)
	require.Zero(t, n, "late")
	require.Zero(t, r.exists())
}

func TestWhatAReliableTopicRefuses(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	r := reliableOn(t, raw, redistest.Name(t))
	ctx := t.Context()
	for what, bad := range map[string]*Reliable[string]{
		"no name": NewReliable[string](r.e, ""), "nil option": NewReliable[string](r.e, "x", nil),
		"no length": NewReliable[string](r.e, "x", WithMaxLength(0)), "negative": NewReliable[string](r.e, "x", WithMaxLength(-1)),
	} {
		_, err := bad.Publish(ctx, "a")
		require.ErrorIs(t, err, ErrInvalidArgument, what)
		_, err = bad.Listen(ctx)
		require.ErrorIs(t, err, ErrInvalidArgument, what)
		_, err = bad.Len(ctx)
		require.ErrorIs(t, err, ErrInvalidArgument, what)
		_, err = bad.CountSubscribers(ctx)
		require.ErrorIs(t, err, ErrInvalidArgument, what)
		_, err = bad.Delete(ctx)
		require.ErrorIs(t, err, ErrInvalidArgument, what)
		_, err = bad.Durable("d").Listen(ctx)
		require.ErrorIs(t, err, ErrInvalidArgument, what)
	}
	_, err := r.Durable("billing").Listen(ctx)
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.ErrorContains(t, err, "WithMaxLength")
	_, err = reliableOn(t, raw, r.Name(), WithMaxLength(5)).Durable("").Drop(ctx)
	require.ErrorIs(t, err, ErrInvalidArgument)
	//lint:ignore SA1012 that is what is tested
	_, err = r.Publish(nil, "a")
	require.ErrorIs(t, err, ErrInvalidArgument)

	for _, key := range []string{r.of.key, r.of.timeout} {
		require.NoError(t, raw.Do(ctx, raw.B().Set().Key(key).Value("x").Build()).Error())
		_, err = r.Listen(ctx)
		require.ErrorContains(t, err, "WRONGTYPE")
		require.ErrorContains(t, err, key)
		require.NoError(t, raw.Do(ctx, raw.B().Del().Key(key).Build()).Error())
		require.Zero(t, r.exists(), "nothing was written")
	}
	require.Zero(t, r.CountListeners())
}

// TestTheLengthOfAnotherType is an error everywhere, though miniredis answers XLEN
// twice.
func TestTheLengthOfAnotherType(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		r := reliableOn(t, raw, redistest.Name(t))
		require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(r.of.key).Value("x").Build()).Error())
		_, err := r.Len(t.Context())
		require.ErrorContains(t, err, "WRONGTYPE")
		require.ErrorContains(t, err, r.of.key)
		require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(r.of.key).Build()).Error())
		n, err := r.Len(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
	})
}

// TestAContextThatEndsDuringListen leaves nothing.
func TestAContextThatEndsDuringListen(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	r := reliableBy(t, server.Client(t), engineOn(t, client), redistest.Name(t))
	held := proxy.HoldRequest(redistest.MatchScript(joinScript.Body()))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := r.Listen(ctx); done <- err }() // ends with ctx
	held.Await(t)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	held.Release()
	redistest.Eventually(t, func() bool { return r.exists() == 0 && r.CountListeners() == 0 }, soon, 5*time.Millisecond)
}

// TestAProcessThatDies has what it was given, and did not handle, given to the next
// one under its name.
func TestAProcessThatDies(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw, name := server.Client(t), redistest.Name(t)
	child := redistest.StartChild(t, "durable", "TOPIC_ADDR="+server.Addr(), "TOPIC_NAME="+name)
	child.Await("listens")
	r := reliableOn(t, raw, name, WithMaxLength(1000))
	r.publishes(1, numbers(0, 10)...)
	child.Await("handled 3")
	r.awaitLen(6) // what it has handled is acknowledged
	child.Kill()
	e := engineOn(t, raw, func(c *core.Config) { c.WatchdogTimeout = 2 * time.Second })
	s := reliableBy(t, raw, e, name, WithMaxLength(1000)).durable("billing")
	seen := map[string]bool{}
	for _, h := range s.next(t, 6) {
		require.NoError(t, h.err)
		seen[h.text] = true
	}
	for _, v := range numbers(4, 10) {
		require.True(t, seen[v], "%s is lost: %v", v, seen)
	}
	r.awaitLen(0)
}
