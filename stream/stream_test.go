package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
)

// texted is a stream of texts.
func texted(t testing.TB, raw rueidis.Client, change ...func(*core.Config)) *Stream[string, string] {
	t.Helper()
	return New[string, string](engineOn(t, raw, change...), named(t, raw), WithCodec(codec.Text))
}

// add appends an entry of one field.
func add(t testing.TB, s *Stream[string, string], v string) (id string) {
	t.Helper()
	id, err := s.Add(t.Context(), map[string]string{"v": v})
	require.NoError(t, err)
	return id
}

// all is what a sequence has, without errors.
func all[T any](t testing.TB, seq func(yield func(T, error) bool)) (vs []T) {
	t.Helper()
	for v, err := range seq {
		require.NoError(t, err)
		vs = append(vs, v)
	}
	return vs
}

// vs is the field v of entries.
func vs(entries []Entry[string, string]) (all []string) {
	for _, e := range entries {
		all = append(all, e.Fields["v"])
	}
	return all
}

// made returns a group that begins with the first entry.
func made(t testing.TB, s *Stream[string, string]) *Group[string, string] {
	t.Helper()
	g := s.Group("g")
	created, err := g.Create(t.Context(), FromStart)
	require.NoError(t, err)
	require.True(t, created)
	return g
}

func TestAStreamIsWalked(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		require.Empty(t, all(t, s.Range(t.Context(), "", "")))
		id, err := s.Add(t.Context(), map[string]string{"a": "1", "b": "é\n"}, WithID("5-1"))
		require.NoError(t, err)
		require.Equal(t, "5-1", id)
		_, err = s.Add(t.Context(), map[string]string{"a": "1"}, WithID("5-1"))
		require.Error(t, err)
		require.NotErrorIs(t, err, ErrOutcomeUnknown)
		entry := all(t, s.Range(t.Context(), "", ""))
		require.Equal(t, []Entry[string, string]{{"5-1", map[string]string{"a": "1", "b": "é\n"}}}, entry)
		require.Equal(t, time.UnixMilli(5), entry[0].Time())

		var ids, want []string
		for i := range 250 {
			ids = append(ids, add(t, s, decimal(int64(i))))
			want = append(want, decimal(int64(i)))
		}
		require.Equal(t, want, vs(all(t, s.Range(t.Context(), ids[0], "")))) // three pages
		require.Equal(t, want[3:6], vs(all(t, s.Range(t.Context(), ids[3], ids[5]))))
		slices.Reverse(want)
		require.Equal(t, want, vs(all(t, s.Reverse(t.Context(), "", ids[0]))))
		slices.Reverse(want)

		n, err := s.Remove(t.Context(), ids[0], ids[1], "1-1")
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		n, err = s.TrimBefore(t.Context(), ids[10])
		require.NoError(t, err)
		require.EqualValues(t, 9, n)
		n, err = s.Trim(t.Context(), 100)
		require.NoError(t, err)
		require.EqualValues(t, 140, n)
		n, err = s.Len(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 100, n)
		require.Equal(t, want[150:], vs(all(t, s.Range(t.Context(), "", ""))))
		yes, err := s.Delete(t.Context())
		require.NoError(t, err)
		require.True(t, yes)
	})
}

func TestAStreamMayBeBounded(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		for range 1000 {
			_, err := s.Add(t.Context(), map[string]string{"v": "x"}, WithMaxLength(10))
			require.NoError(t, err)
		}
		n, err := s.Len(t.Context())
		require.NoError(t, err)
		require.GreaterOrEqual(t, n, int64(10))
		require.Less(t, n, int64(300))
	})
}

func TestAGroupSharesEntries(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		add(t, s, "before")
		g := made(t, s)
		created, err := g.Create(t.Context(), FromNow)
		require.NoError(t, err)
		require.False(t, created)
		ctx, cancel := context.WithCancel(within(t))
		defer cancel()
		var mu sync.Mutex
		got := map[string]int{}
		var consumers sync.WaitGroup
		for i := range 4 {
			consumers.Go(func() {
				for e, err := range g.Consume(ctx, fmt.Sprint(i), WithBatch(3)) {
					if err != nil {
						assert.ErrorIs(t, err, context.Canceled)
						return
					}
					mu.Lock()
					got[e.Fields["v"]]++
					mu.Unlock()
					n, err := g.Ack(t.Context(), e.ID)
					assert.NoError(t, err)
					assert.EqualValues(t, 1, n)
				}
			})
		}
		want := map[string]int{"before": 1}
		for i := range 200 {
			v := decimal(int64(i))
			want[v] = 1
			add(t, s, v)
			if i%50 == 0 {
				time.Sleep(5 * time.Millisecond) // so that they wait
			}
		}
		redistest.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(got) == len(want) }, soon, time.Millisecond)
		redistest.Eventually(t, func() bool { return len(all(t, g.Pending(t.Context()))) == 0 }, soon, time.Millisecond)
		cancel()
		consumers.Wait()
		require.Equal(t, want, got)
		there, err := g.Destroy(t.Context())
		require.NoError(t, err)
		require.True(t, there)
		there, err = g.Destroy(t.Context())
		require.NoError(t, err)
		require.False(t, there)
	})
}

// TestWhatIsNotAcknowledgedComesAgain, to another consumer, and is listed until then.
func TestWhatIsNotAcknowledgedComesAgain(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		g := made(t, s)
		alone := add(t, s, "alone") // in the first answer
		var ids []string
		for i := range 4 {
			ids = append(ids, add(t, s, decimal(int64(i))))
		}
		for e, err := range g.Consume(within(t), "one", WithBatch(16)) {
			require.NoError(t, err)
			if e.ID == alone {
				_, err := g.Ack(t.Context(), e.ID)
				require.NoError(t, err)
				continue
			}
			require.Equal(t, ids[0], e.ID)
			break // with which it is not acknowledged, and the others are given back
		}
		pending := all(t, g.Pending(t.Context()))
		require.Len(t, pending, 4)
		require.Equal(t, ids[0], pending[0].ID)
		require.Equal(t, "one", pending[0].Consumer)
		require.EqualValues(t, 1, pending[0].Deliveries)
		require.Less(t, pending[0].Idle, 20*time.Second)
		require.Greater(t, pending[1].Idle, 20*time.Second)

		var again []string
		for e, err := range g.Consume(within(t), "two") {
			require.NoError(t, err)
			again = append(again, e.ID)
			_, err := g.Ack(t.Context(), e.ID)
			require.NoError(t, err)
			if len(again) == 3 {
				break
			}
		}
		require.Equal(t, ids[1:], again)
		for e, err := range g.Consume(within(t), "two", WithIdle(50*time.Millisecond)) {
			require.NoError(t, err)
			require.Equal(t, ids[0], e.ID)
			_, err := g.Ack(t.Context(), e.ID)
			require.NoError(t, err)
			break
		}
		require.Empty(t, all(t, g.Pending(t.Context())))
	})
}

// TestWhatIsGivenBackWasNotDelivered, as far as anybody is told.
func TestWhatIsGivenBackWasNotDelivered(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		g := made(t, s)
		for i := range 5 {
			add(t, s, decimal(int64(i)))
		}
		for i, consumer := range []string{"one", "two", "one"} { // of which each claims what the one before has given back
			yielded, last := 0, []int{2, 2, 1}[i] // the first answer has one
			for e, err := range g.Consume(within(t), consumer, WithBatch(16)) {
				require.NoError(t, err)
				if yielded++; yielded == last {
					break
				}
				_, err = g.Ack(t.Context(), e.ID)
				require.NoError(t, err)
			}
		}
		deliveries := map[int64]int{}
		for _, p := range all(t, g.Pending(t.Context())) {
			deliveries[p.Deliveries]++
		}
		require.Equal(t, map[int64]int{1: 3}, deliveries)
	})
}

// TestALateCopyTakesNothingFromWhoHasIt: what a loop gives back was given to somebody
// else when it comes.
func TestALateCopyTakesNothingFromWhoHasIt(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for _, other := range []string{"another", "the same"} {
		t.Run(other, func(t *testing.T) {
			client, proxy := through(t, server)
			s := New[string, string](engineOn(t, client, shortSends), named(t, raw), WithCodec(codec.Text))
			g := made(t, s)
			for i := range 5 {
				add(t, s, decimal(int64(i)))
			}
			leave := func() {
				yielded := 0
				for _, err := range g.Consume(within(t), "the same", WithBatch(16)) {
					require.NoError(t, err)
					if yielded++; yielded == 2 { // the first answer has one
						break
					}
				}
			}
			leave() // by which the server has the script
			late := proxy.HoldRequest(redistest.MatchScript(returnScript.Body()))
			leave()
			late.Await(t)
			live := New[string, string](engineOn(t, raw), s.Name(), WithCodec(codec.Text)).Group("g")
			seen := map[string]bool{}
			for e, err := range live.Consume(within(t), other, WithIdle(10*time.Millisecond), WithBatch(1)) {
				require.NoError(t, err)
				if seen[e.ID] = true; len(seen) == 5 {
					break
				}
			}
			had := all(t, live.Pending(t.Context()))
			late.Release()
			for i, p := range all(t, live.Pending(t.Context())) {
				require.Equal(t, had[i].Consumer, p.Consumer)
				require.Equal(t, had[i].Deliveries, p.Deliveries)
				require.Less(t, p.Idle, 20*time.Second)
			}
		})
	}
}

// TestWhoLeavesASilentServerAsksOnce what is to be given back.
func TestWhoLeavesASilentServerAsksOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	s := New[string, string](engineOn(t, client, shortSends), named(t, server.Client(t)), WithCodec(codec.Text))
	g := made(t, s)
	for _, v := range []string{"a", "b", "c"} {
		add(t, s, v)
	}
	asks := redistest.Command("XPENDING")
	silent := proxy.DropReply(asks, 10, redistest.Silent())
	yielded := 0
	for _, err := range g.Consume(within(t), "c", WithBatch(16)) {
		require.NoError(t, err)
		if yielded++; yielded == 2 { // the first answer has one
			break
		}
	}
	require.Equal(t, 1, silent.Dropped())
	silent.Cancel()
	proxy.Restore()
}

// TestManyAreGivenBackInParts, each of which is over soon.
func TestManyAreGivenBackInParts(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	s := New[string, string](engineOn(t, client), named(t, server.Client(t)), WithCodec(codec.Text))
	g := made(t, s)
	const small, n = 1 + 4 + 16 + 64 + 256, 2*mostReturned + 50 // answers grow as it is seen that entries are short
	for i := range small + n {
		add(t, s, decimal(int64(i)))
	}
	yielded := 0
	for e, err := range g.Consume(within(t), "c", WithBatch(n)) {
		require.NoError(t, err)
		if yielded++; yielded > small {
			break
		}
		_, err = g.Ack(t.Context(), e.ID)
		require.NoError(t, err)
	}
	calls := 0
	back := redistest.MatchScript(returnScript.Body())
	for _, cmd := range proxy.Log() {
		if back(cmd) {
			calls++
			require.LessOrEqual(t, len(cmd), 9+2*mostReturned) // EVAL, the script, 1, the key, five words
		}
	}
	require.GreaterOrEqual(t, calls, 3)
	unseen := 0
	for _, p := range all(t, g.Pending(t.Context())) {
		if p.Deliveries == 0 {
			unseen++
		}
	}
	require.Equal(t, n-1, unseen)
}

// TestASlowLoopGetsNothingThatOthersMayHave: what it has read for too long goes back.
func TestASlowLoopGetsNothingThatOthersMayHave(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		g := made(t, s)
		for i := range 6 {
			add(t, s, decimal(int64(i)))
		}
		idle := 300 * time.Millisecond
		handled := map[string]int{}
		for e, err := range g.Consume(within(t), "slow", WithIdle(idle), WithBatch(16)) {
			require.NoError(t, err)
			handled[e.Fields["v"]]++
			time.Sleep(idle / 3)
			_, err := g.Ack(t.Context(), e.ID)
			require.NoError(t, err)
			if len(handled) == 6 {
				break
			}
		}
		for v, n := range handled {
			require.Equal(t, 1, n, v)
		}
	})
}

func TestEntriesThatDoNotDecode(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		numbers := New[string, int](s.q.h.e, s.Name(), WithCodec(codec.Text))
		add(t, s, "1")
		bad := add(t, s, "no number")
		add(t, s, "3")
		_, err := numbers.Group("g").Create(t.Context(), FromStart)
		require.NoError(t, err)
		for _, seq := range []func(func(Entry[string, int], error) bool){
			numbers.Range(t.Context(), "", ""), numbers.Group("g").Consume(within(t), "c"),
		} {
			var got []int
			undecoded := 0
			for e, err := range seq {
				var one *codec.DecodeError
				if errors.As(err, &one) {
					require.Equal(t, bad, e.ID)
					require.Equal(t, bad, one.Key)
					require.Equal(t, s.Name(), one.Name)
					require.Equal(t, "no number", string(one.Bytes))
					undecoded++
					continue
				}
				require.NoError(t, err)
				if got = append(got, e.Fields["v"]); e.Fields["v"] == 3 {
					break
				}
			}
			require.Equal(t, []int{1, 3}, got)
			require.Equal(t, 1, undecoded)
		}
	})
}

func TestWhatNoStreamTakes(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		g := s.Group("g")
		one := map[string]string{"a": "1"}
		for what, op := range map[string]func() error{
			"no fields": func() error { _, err := s.Add(t.Context(), nil); return err },
			"an ID":     func() error { _, err := s.Add(t.Context(), one, WithID("MAXLEN")); return err },
			"another":   func() error { _, err := s.Add(t.Context(), one, WithID("5-x")); return err },
			"a length":  func() error { _, err := s.Add(t.Context(), one, WithMaxLength(0)); return err },
			"nil":       func() error { _, err := s.Add(t.Context(), one, nil); return err },
			"a trim":    func() error { _, err := s.Trim(t.Context(), -1); return err },
			"before":    func() error { _, err := s.TrimBefore(t.Context(), "$"); return err },
			"from": func() error {
				for _, err := range s.Range(t.Context(), "COUNT", "") {
					return err
				}
				return nil
			},
			"remove":   func() error { _, err := s.Remove(t.Context(), "5-1", "x"); return err },
			"a group":  func() error { _, err := s.Group("").Create(t.Context(), FromNow); return err },
			"begins":   func() error { _, err := g.Create(t.Context(), "-"); return err },
			"ack":      func() error { _, err := g.Ack(t.Context(), "*"); return err },
			"consumer": func() error { return consumed(g.Consume(t.Context(), "")) },
			"idle":     func() error { return consumed(g.Consume(t.Context(), "c", WithIdle(time.Millisecond))) },
			"batch":    func() error { return consumed(g.Consume(t.Context(), "c", WithBatch(0))) },
			"option":   func() error { return consumed(g.Consume(t.Context(), "c", nil)) },
		} {
			require.ErrorIs(t, op(), ErrInvalidArgument, what)
		}
		require.ErrorIs(t, consumed(g.Consume(t.Context(), "c")), ErrNoGroup)
		add(t, s, "a")
		require.ErrorIs(t, consumed(g.Consume(t.Context(), "c")), ErrNoGroup)
		for _, err := range g.Pending(t.Context()) {
			require.ErrorIs(t, err, ErrNoGroup)
			require.ErrorContains(t, err, s.Name())
			require.ErrorContains(t, err, `"g"`)
		}
		require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(s.Name()).Build()).Error())
		require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(s.Name()).Value("x").Build()).Error())
		for what, op := range map[string]func() error{
			"add":     func() error { _, err := s.Add(t.Context(), one); return err },
			"trim":    func() error { _, err := s.Trim(t.Context(), 1); return err },
			"create":  func() error { _, err := g.Create(t.Context(), FromNow); return err },
			"consume": func() error { return consumed(g.Consume(t.Context(), "c")) },
		} {
			err := op()
			require.ErrorContains(t, err, "is no stream", what)
			require.ErrorContains(t, err, s.Name(), what)
		}
	})
}

// consumed is the first error of a sequence.
func consumed(seq func(func(Entry[string, string], error) bool)) error {
	for _, err := range seq {
		return err
	}
	return nil
}

// TestTheLengthOfAnotherType is an error everywhere, though miniredis answers XLEN
// twice.
func TestTheLengthOfAnotherType(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(s.Name()).Value("x").Build()).Error())
		_, err := s.Len(t.Context())
		require.ErrorContains(t, err, "is no stream")
		require.ErrorContains(t, err, s.Name())
		n, err := texted(t, raw).Len(t.Context())
		require.NoError(t, err)
		require.Zero(t, n, "what somebody asks next has its own answer")
	})
}

// TestAGroupThatIsDestroyedUnderItsConsumers tells them.
func TestAGroupThatIsDestroyedUnderItsConsumers(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		g := made(t, s)
		result := make(chan error)
		go func() { result <- consumed(g.Consume(within(t), "c")) }()
		awaited(t, s)
		_, err := g.Destroy(t.Context())
		require.NoError(t, err)
		add(t, s, "a") // which has it look
		require.ErrorIs(t, <-result, ErrNoGroup)
	})
}

// awaited returns when somebody waits for the stream.
func awaited(t testing.TB, s *Stream[string, string]) {
	t.Helper()
	redistest.Eventually(t, func() bool { return s.q.h.poller.Waiting(s.q.h.tips.Kind, s.q.Key) }, soon, time.Millisecond)
}

// TestConsumersOfManyStreamsShareAConnection, of several groups, and leave none.
func TestConsumersOfManyStreamsShareAConnection(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		e := engineOn(t, server.Client(t, redistest.OnePipeline))
		before := server.Connections(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var consumers sync.WaitGroup
		var mu sync.Mutex
		got := map[string]int{}
		var streams []*Stream[string, string]
		for i := range 20 {
			s := New[string, string](e, redistest.Name(t), WithCodec(codec.Text))
			streams = append(streams, s)
			for _, name := range []string{"a", "b"} {
				g := s.Group(name)
				_, err := g.Create(t.Context(), FromStart)
				require.NoError(t, err)
				for j := range 5 {
					consumers.Go(func() {
						for e, err := range g.Consume(ctx, fmt.Sprint(j)) {
							if err != nil {
								assert.ErrorIs(t, err, context.Canceled)
								return
							}
							mu.Lock()
							got[fmt.Sprintf("%d %s %s", i, name, e.Fields["v"])]++
							mu.Unlock()
							_, err := g.Ack(t.Context(), e.ID)
							assert.NoError(t, err)
						}
					})
				}
			}
		}
		for _, s := range streams {
			awaited(t, s)
		}
		require.LessOrEqual(t, server.Connections(t), before+2) // one waits, one hears what is given back
		rounds := redistest.Count(t, 10, 200)
		for n := range rounds {
			for _, s := range streams {
				add(t, s, fmt.Sprint(n))
			}
		}
		redistest.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(got) == 40*rounds }, soon, time.Millisecond)
		require.LessOrEqual(t, server.Connections(t), before+2) // one waits, one hears what is given back
		cancel()
		consumers.Wait()
		for what, n := range got {
			require.Equal(t, 1, n, what)
		}
		redistest.Eventually(t, func() bool { return server.Connections(t) <= before+1 }, soon, 10*time.Millisecond) // that of messages stays
		require.Zero(t, e.Shared(hubKey{}, nil).(*hub).tips.Len())
	})
}

// TestConnectionsThatBreakUnderConsumers lose nothing: what was on its way comes
// again.
func TestConnectionsThatBreakUnderConsumers(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		client, proxy := through(t, server)
		e := engineOn(t, client, shortSends)
		mine := New[string, string](e, redistest.Name(t), WithCodec(codec.Text))
		s := New[string, string](engineOn(t, server.Client(t)), mine.Name(), WithCodec(codec.Text))
		made(t, s)
		g := mine.Group("g")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var mu sync.Mutex
		got := map[string]int{}
		var consumers sync.WaitGroup
		for i := range 4 {
			consumers.Go(func() {
				for ctx.Err() == nil {
					for e, err := range g.Consume(ctx, fmt.Sprint(i), WithIdle(400*time.Millisecond)) {
						if err != nil {
							break
						}
						mu.Lock()
						got[e.Fields["v"]]++
						mu.Unlock()
						_, _ = g.Ack(ctx, e.ID) // what is lost with it comes again
					}
				}
			})
		}
		want := map[string]bool{}
		elements, cuts := redistest.Count(t, 600, 20_000), redistest.Count(t, 6, 40)
		for i := range elements {
			if i%(elements/cuts) == elements/cuts/2 {
				proxy.CutAll()
			}
			v := decimal(int64(i))
			want[v] = true
			add(t, s, v)
		}
		redistest.Eventually(t, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(got) == len(want)
		}, soon, 10*time.Millisecond)
		redistest.Eventually(t, func() bool { return len(all(t, s.Group("g").Pending(t.Context()))) == 0 }, soon, 10*time.Millisecond)
		cancel()
		consumers.Wait()
		twice := 0
		for _, n := range got {
			twice += n - 1
		}
		t.Logf("%d entries, %d cuts: none lost, %d came again", elements, cuts, twice)
	})
}

// TestALostReplyOfAStream says that it may have been done.
func TestALostReplyOfAStream(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	client, proxy := through(t, server)
	s := New[string, string](engineOn(t, client, shortSends), named(t, raw), WithCodec(codec.Text))
	g := made(t, s)
	id := add(t, s, "1")
	for e, err := range g.Consume(within(t), "c", WithBatch(16)) {
		require.NoError(t, err)
		require.Equal(t, id, e.ID)
		break
	}
	for _, c := range []struct {
		command string
		do      func() error
	}{
		{"XADD", func() error { _, err := s.Add(t.Context(), map[string]string{"v": "2"}); return err }},
		{"XACK", func() error { _, err := g.Ack(t.Context(), id); return err }},
		{"XDEL", func() error { _, err := s.Remove(t.Context(), id); return err }},
		{"XTRIM", func() error { _, err := s.Trim(t.Context(), 1); return err }},
		{"XGROUP", func() error { _, err := g.Destroy(t.Context()); return err }},
	} {
		lost := proxy.DropReply(redistest.All(redistest.Command(c.command), redistest.Arg(s.Name())), 1)
		err := c.do()
		lost.Await(t)
		require.ErrorIs(t, err, ErrOutcomeUnknown, c.command)
		require.ErrorContains(t, err, s.Name())
	}
	require.Equal(t, []string{"2"}, vs(all(t, s.Range(t.Context(), "", ""))))
}

// TestACloseUnderConsumers loses nothing, and leaves no connection.
func TestACloseUnderConsumers(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		direct := engineOn(t, server.Client(t, redistest.OnePipeline))
		s := New[string, string](direct, redistest.Name(t), WithCodec(codec.Text))
		made(t, s)
		connections := server.Connections(t)
		var mu sync.Mutex
		got := map[string]bool{}
		handle := func(g *Group[string, string], e Entry[string, string]) {
			mu.Lock()
			got[e.Fields["v"]] = true
			mu.Unlock()
			_, _ = g.Ack(context.Background(), e.ID) // what is not acknowledged comes again
		}
		rounds := redistest.Count(t, 8, 100)
		for round := range rounds {
			client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}, ForceSingleClient: true})
			require.NoError(t, err)
			e := engineOn(t, client)
			g := New[string, string](e, s.Name(), WithCodec(codec.Text)).Group("g")
			var consumers sync.WaitGroup
			for i := range 6 {
				consumers.Go(func() {
					for e, err := range g.Consume(t.Context(), fmt.Sprint(i)) {
						if err != nil {
							assert.ErrorIs(t, err, ErrClosed)
							return
						}
						handle(g, e)
					}
				})
			}
			for i := range 20 {
				add(t, s, decimal(int64(round*1000+i)))
			}
			time.Sleep(time.Duration(round%7) * time.Millisecond)
			require.NoError(t, locking.Close(t.Context(), e))
			consumers.Wait()
			client.Close()
		}
		ctx, cancel := context.WithCancel(within(t))
		defer cancel()
		g := s.Group("g")
		for e, err := range g.Consume(ctx, "last", WithIdle(20*time.Millisecond)) {
			if err != nil {
				break
			}
			handle(g, e)
			if len(got) == 20*rounds {
				cancel()
			}
		}
		require.Len(t, got, 20*rounds)
		redistest.Eventually(t, func() bool { return server.Connections(t) <= connections+1 }, soon, 10*time.Millisecond) // one for what "last" gave back
	})
}

// TestASilentServerUnderConsumers is borne for a watchdog timeout.
func TestASilentServerUnderConsumers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, proxy := through(t, server)
	s := New[string, string](engineOn(t, client, func(c *core.Config) { c.WatchdogTimeout = 2 * time.Second }), redistest.Name(t), WithCodec(codec.Text))
	g := made(t, s)
	result := make(chan error)
	go func() { result <- consumed(g.Consume(t.Context(), "c")) }()
	awaited(t, s)
	proxy.Refuse()
	proxy.CutAll()
	err := <-result
	require.Error(t, err)
	require.ErrorContains(t, err, s.Name())
	proxy.Accept()
}

// TestCodecsOfStreams are those of maps: WithCodec is that of values, and fields are text.
func TestCodecsOfStreams(t *testing.T) {
	t.Parallel()
	raw := miniredisClient(t)
	e := engineOn(t, raw)
	for _, c := range []struct {
		opts []Option
		want map[string]string
	}{
		{nil, map[string]string{"7": "\x01"}},
		{[]Option{WithCodec(codec.JSON)}, map[string]string{"7": "1"}},
		{[]Option{WithCodecs(codec.Msgpack, codec.JSON)}, map[string]string{"\x07": "1"}},
		{[]Option{WithCodecs(codec.Msgpack, codec.JSON), WithCodec(codec.Msgpack)}, map[string]string{"\x07": "\x01"}},
		{[]Option{WithFieldCodec(codec.KeyOf[int](codec.Msgpack)), WithValueCodec(codec.For[int](codec.Text))}, map[string]string{"\x07": "1"}},
	} {
		s := New[int, int](e, named(t, raw), c.opts...)
		_, err := s.Add(t.Context(), map[int]int{7: 1})
		require.NoError(t, err)
		got := all(t, s.Range(t.Context(), "", ""))
		require.Len(t, got, 1)
		require.Equal(t, map[int]int{7: 1}, got[0].Fields)
		there := all(t, New[string, string](e, s.Name(), WithFieldCodec(rawBytes{}), WithValueCodec(rawBytes{})).Range(t.Context(), "", ""))
		require.Equal(t, c.want, there[0].Fields)
	}
	for _, op := range []func() error{
		func() error {
			_, err := New[int, int](e, "s", WithFieldCodec(rawBytes{})).Add(t.Context(), map[int]int{1: 1})
			return err
		},
		func() error {
			_, err := New[string, string](e, "s", WithCodec(codec.Text)).Add(t.Context(), map[string]string{"\xff": "1"})
			return err
		},
	} {
		require.ErrorIs(t, op(), ErrInvalidArgument)
	}
	_, err := New[string, string](e, "s", WithCodec(codec.Text)).Add(t.Context(), map[string]string{"\xff": "1"})
	require.ErrorContains(t, err, "field: ")
	_, err = New[string, string](e, "s", WithCodec(codec.Text)).Add(t.Context(), map[string]string{"1": "\xff"})
	require.ErrorContains(t, err, "value: ")
}

// rawBytes is texts as they are, whatever bytes they have.
type rawBytes struct{}

func (rawBytes) Append(dst []byte, v string) ([]byte, error) { return append(dst, v...), nil }
func (rawBytes) Decode(b []byte) (string, error)             { return string(b), nil }
