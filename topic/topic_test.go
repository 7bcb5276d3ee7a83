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
)

func numbers(from, to int) (all []string) {
	for i := from; i < to; i++ {
		all = append(all, strconv.Itoa(i))
	}
	return all
}

// isMiniredis reports whether it is the server of rueidissontest.
func isMiniredis(t testing.TB, raw rueidis.Client) bool {
	t.Helper()
	return raw.Do(t.Context(), raw.B().Arbitrary("SPUBLISH").Keys("x").Args("y").Build()).Error() != nil
}

func TestAllWhoListenHearAllInOrder(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		for kind, of := range kinds {
			if kind == "sharded" && isMiniredis(t, raw) {
				continue
			}
			t.Run(kind, func(t *testing.T) {
				name := redistest.Name(t)
				topic, beside := of(engineOn(t, raw), name), of(engineOn(t, raw), name)
				one, other, third := topic.listening(t), topic.listening(t), beside.listening(t)
				require.Equal(t, 2, topic.listeners())
				require.Equal(t, 1, beside.listeners())
				for i := range 100 {
					n, err := topic.publish(t.Context(), strconv.Itoa(i))
					require.NoError(t, err)
					require.EqualValues(t, 2, n, "processes")
				}
				for _, s := range []*heardBy{one, other, third} {
					s.hears(t, numbers(0, 100)...)
				}
			})
		}
	})
}

// TestWhatTheTestServerCannotDoIsSaid and names what was sent nowhere.
func TestWhatTheTestServerCannotDoIsSaid(t *testing.T) {
	t.Parallel()
	topic := NewSharded[string](engineOn(t, miniredisClient(t)), "orders")
	_, err := topic.Publish(t.Context(), "a secret")
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, `publish to sharded topic "orders"`)
	require.NotContains(t, err.Error(), "secret")
	_, err = topic.Listen(t.Context())
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "SSUBSCRIBE")
	_, err = topic.CountSubscribers(t.Context())
	require.Error(t, err)
}

// TestAThousandListenersAreOneSubscriber shares a connection and a message.
func TestAThousandListenersAreOneSubscriber(t *testing.T) {
	t.Parallel()
	onKinds(t, func(t *testing.T, of maker) {
		server := redistest.Start(t)
		topic := of(engineOn(t, server.Client(t)), "orders")
		before := server.Connections(t)
		all := make([]*heardBy, 1000)
		for i := range all {
			all[i] = topic.listening(t)
		}
		require.Equal(t, before+1, server.Connections(t))
		require.Equal(t, len(all), topic.listeners())
		if topic.subscribers != nil {
			n, err := topic.subscribers(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
		}
		topic.publishes(t, "a", "b") // one receiver each
		for _, s := range all {
			s.hears(t, "a", "b")
			s.close()
		}
		require.Zero(t, topic.listeners())
		// Nothing lingers: who publishes is told that nobody listens.
		redistest.Eventually(t, func() bool {
			n, err := topic.publish(t.Context(), "c")
			require.NoError(t, err)
			return n == 0
		}, soon, time.Millisecond)
	})
}

// TestTenThousandListenAtOnce and one is subscribed.
func TestTenThousandListenAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	topic := New[string](engineOn(t, server.Client(t)), "orders")
	n := redistest.Count(t, 2_000, 10_000)
	var all, ready sync.WaitGroup
	ready.Add(n)
	for range n {
		all.Go(func() {
			s, err := redistest.Patient(func() (*Subscription[string], error) { return topic.Listen(t.Context()) })
			ready.Done()
			if !assert.NoError(t, err) {
				return
			}
			defer s.Close()
			for v, err := range s.Messages(t.Context()) {
				assert.NoError(t, err)
				assert.Equal(t, "go", v)
				return
			}
		})
	}
	ready.Wait()
	receivers, err := topic.Publish(t.Context(), "go")
	require.NoError(t, err)
	require.EqualValues(t, 1, receivers)
	all.Wait()
	require.EqualValues(t, 1, server.CommandCalls(t, "subscribe"))
}

func TestASlowReaderLosesTheOldestAndIsTold(t *testing.T) {
	t.Parallel()
	onKinds(t, func(t *testing.T, of maker) {
		name := redistest.Name(t)
		topic := of(engineOn(t, redistest.Shared(t).Client(t)), name)
		slow, quick := topic.listening(t, WithBuffer(4)), topic.listening(t)
		topic.publishes(t, numbers(0, 100)...)
		quick.hears(t, numbers(0, 100)...)
		got := slow.next(t, 1)
		var lagged *LaggedError
		require.ErrorAs(t, got[0].err, &lagged)
		require.EqualValues(t, 96, lagged.Missed)
		require.Contains(t, lagged.Name, name)
		slow.hears(t, "96", "97", "98", "99")
		topic.publishes(t, "more")
		slow.hears(t, "more")
	})
}

// TestAReaderWhoHangsHoldsUpNobody for the default buffer.
func TestAReaderWhoHangsHoldsUpNobody(t *testing.T) {
	t.Parallel()
	topic := New[string](engineOn(t, redistest.Shared(t).Client(t)), redistest.Name(t))
	hung, err := topic.Listen(t.Context())
	require.NoError(t, err)
	quick, err := topic.Listen(t.Context(), WithBuffer(1_000_000))
	require.NoError(t, err)
	const n = 2_000
	for i := range n {
		_, err := topic.Publish(t.Context(), strconv.Itoa(i))
		require.NoError(t, err)
	}
	(&heardBy{messages: quick.Messages}).hears(t, numbers(0, n)...)
	got := (&heardBy{messages: hung.Messages}).next(t, 1+defaultBuffer)
	require.Equal(t, &LaggedError{topic.Name(), n - defaultBuffer}, got[0].err)
	require.ErrorIs(t, got[0].err, core.ErrNotice)
	require.Equal(t, strconv.Itoa(n-1), got[defaultBuffer].text)
	hung.Close()
	quick.Close()
}

func TestALoopThatIsLeftEndsItsSubscription(t *testing.T) {
	t.Parallel()
	onKinds(t, func(t *testing.T, of maker) {
		topic := of(engineOn(t, redistest.Shared(t).Client(t)), redistest.Name(t))
		loop := topic.subscribe(t.Context())
		require.Zero(t, topic.listeners(), "it is subscribed when the loop begins")
		done := make(chan string, 2)
		for range 2 { // a sequence may be used again
			go func() { // ends with the first message
				for v, err := range loop {
					if err == nil {
						done <- v
						return
					}
				}
			}()
			require.Eventually(t, func() bool { return topic.listeners() == 1 }, soon, time.Millisecond)
			redistest.Eventually(t, func() bool {
				n, err := topic.publish(t.Context(), "x")
				require.NoError(t, err)
				return n == 1
			}, soon, time.Millisecond)
			require.Equal(t, "x", <-done)
			require.Eventually(t, func() bool { return topic.listeners() == 0 }, soon, time.Millisecond)
		}
	})
}

func TestTheContextEndsTheLoopAndNotTheSubscription(t *testing.T) {
	t.Parallel()
	topic := kinds["plain"](engineOn(t, redistest.Shared(t).Client(t)), redistest.Name(t))
	s := topic.listening(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(assert.AnError)
	for _, err := range s.messages(ctx) {
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, assert.AnError)
	}
	topic.publishes(t, "a")
	s.hears(t, "a")
	var last error
	for _, err := range topic.subscribe(ctx) {
		last = err
	}
	require.ErrorIs(t, last, assert.AnError)
}

// TestCloseEndsAllLoops without an error, also those that wait.
func TestCloseEndsAllLoops(t *testing.T) {
	t.Parallel()
	topic := kinds["plain"](engineOn(t, redistest.Shared(t).Client(t)), redistest.Name(t))
	s := topic.listening(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for v, err := range s.messages(t.Context()) {
				assert.Fail(t, "it is told of", "%q, %v", v, err)
			}
		})
	}
	s.close()
	s.close()
	all.Wait()
	for range s.messages(t.Context()) {
		t.Fatal("it was closed")
	}
}

// TestLoopsShareWhatComes each message once.
func TestLoopsShareWhatComes(t *testing.T) {
	t.Parallel()
	topic := kinds["plain"](engineOn(t, redistest.Shared(t).Client(t)), redistest.Name(t))
	s := topic.listening(t, WithBuffer(10_000))
	var mu sync.Mutex
	got := map[string]int{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for v, err := range s.messages(t.Context()) {
				assert.NoError(t, err)
				mu.Lock()
				got[v]++
				if len(got) == 1000 {
					s.close()
				}
				mu.Unlock()
			}
		})
	}
	topic.publishes(t, numbers(0, 1000)...)
	all.Wait()
	for v, n := range got {
		require.Equal(t, 1, n, v)
	}
	require.Len(t, got, 1000)
}

// TestTheClientCloses under loops, which read what has come and end then.
func TestTheClientCloses(t *testing.T) {
	t.Parallel()
	onKinds(t, func(t *testing.T, of maker) {
		e := engineOn(t, redistest.Shared(t).Client(t))
		topic := of(e, redistest.Name(t))
		idle, full := topic.listening(t), topic.listening(t)
		topic.publishes(t, "a")
		idle.hears(t, "a")
		over := make(chan error, 1)
		go func() { // ends with the client
			var last error
			for _, last = range idle.messages(context.Background()) {
			}
			over <- last
		}()
		require.NoError(t, locking.Close(t.Context(), e))
		require.ErrorIs(t, <-over, ErrClosed)
		full.hears(t, "a")
		for _, err := range full.messages(t.Context()) {
			require.ErrorIs(t, err, ErrClosed)
		}
		_, err := topic.listen(t.Context())
		require.ErrorIs(t, err, ErrClosed)
		_, err = topic.publish(t.Context(), "b")
		require.ErrorIs(t, err, ErrClosed)
	})
}

func TestWhatCannotBeDecodedIsToldAndTheLoopGoesOn(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	name := redistest.Name(t)
	e := engineOn(t, raw)
	wrote := New[string](e, name)
	s, err := New[int](e, name, WithCodec(codec.JSON)).Listen(t.Context())
	require.NoError(t, err)
	defer s.Close()
	p, err := NewPattern[int](e, name+"*", WithCodec(codec.JSON)).Listen(t.Context())
	require.NoError(t, err)
	defer p.Close()
	for _, v := range []string{"1", "no number", "", "2"} {
		_, err := wrote.Publish(t.Context(), v)
		require.NoError(t, err)
	}
	i := 0
	for v, err := range s.Messages(t.Context()) {
		if i == 1 || i == 2 {
			var undecoded *codec.DecodeError
			require.ErrorAs(t, err, &undecoded)
			require.ErrorIs(t, err, ErrDecode)
			require.ErrorIs(t, err, core.ErrNotice)
			require.Equal(t, []string{"no number", ""}[i-1], string(undecoded.Bytes))
			require.Equal(t, name, undecoded.Name)
			require.NotContains(t, err.Error(), "no number")
		} else {
			require.NoError(t, err)
			require.Equal(t, []int{1, 0, 0, 2}[i], v)
		}
		if i++; i == 4 {
			break
		}
	}
	i = 0
	for m, err := range p.Messages(t.Context()) {
		if i++; i == 2 {
			var undecoded *codec.DecodeError
			require.ErrorAs(t, err, &undecoded)
			require.Equal(t, name, undecoded.Key, "the channel")
			require.Equal(t, name, m.Channel)
			break
		}
	}
}

// TestALostReplyIsUnknownAndSentOnce since nobody could tell the second from the
// first.
func TestALostReplyIsUnknownAndSentOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for kind, word := range map[string]string{"plain": "PUBLISH", "sharded": "SPUBLISH"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name := redistest.Name(t)
			client, proxy := through(t, server)
			s := kinds[kind](engineOn(t, server.Client(t)), name).listening(t)
			topic := kinds[kind](engineOn(t, client), name)
			lost := proxy.DropReply(redistest.All(redistest.Command(word), redistest.Arg(name)), 1)
			_, err := topic.publish(t.Context(), "a")
			lost.Await(t)
			require.ErrorIs(t, err, ErrOutcomeUnknown)
			require.ErrorContains(t, err, name)
			topic.publishes(t, "b")
			s.hears(t, "a", "b")
			require.Equal(t, 2, proxy.Count(redistest.All(redistest.Command(word), redistest.Arg(name))))
		})
	}
}

// TestAConnectionThatIsCutIsTold and what comes behind it is heard.
func TestAConnectionThatIsCutIsTold(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	onKinds(t, func(t *testing.T, of maker) {
		name := redistest.Name(t)
		client, proxy := through(t, server)
		topic, other := of(engineOn(t, client), name), of(engineOn(t, server.Client(t)), name)
		all := []*heardBy{topic.listening(t), topic.listening(t, WithBuffer(2))}
		other.publishes(t, "before")
		for _, s := range all {
			s.hears(t, "before")
		}
		for round := range redistest.Count(t, 3, 50) {
			proxy.CutAll()
			for _, s := range all { // the interruption is told once it stands again
				s.interrupted(t)
			}
			_, err := other.publish(t.Context(), fmt.Sprint("after ", round)) // which may count the connection that has gone
			require.NoError(t, err)
			for _, s := range all {
				s.hears(t, fmt.Sprint("after ", round))
			}
		}
	})
}

// TestASilentServerIsFound though nothing is published meanwhile.
func TestASilentServerIsFound(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	name := redistest.Name(t)
	topic := kinds["plain"](engineOn(t, client, func(c *core.Config) { c.WatchdogTimeout = 3 * time.Second }), name)
	s := topic.listening(t)
	proxy.BlackHole()
	other := kinds["plain"](engineOn(t, server.Client(t)), name)
	_, err := other.publish(t.Context(), "lost")
	require.NoError(t, err)
	proxy.CutAll()
	proxy.Restore()
	s.interrupted(t)
	other.publishes(t, "found")
	s.hears(t, "found")
}

func TestCountSubscribers(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"plain", "sharded"} { // nobody counts who listens to a pattern
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			of, raw, name := kinds[kind], redistest.Shared(t).Client(t), redistest.Name(t)
			topic := of(engineOn(t, raw), name)
			for n := range int64(3) {
				got, err := topic.subscribers(t.Context())
				require.NoError(t, err)
				require.Equal(t, n, got)
				of(engineOn(t, raw), name).listening(t)
			}
		})
	}
}

func TestTheNameMapperMapsTopicsAndNoPatterns(t *testing.T) {
	t.Parallel()
	name := redistest.Name(t)
	e := engineOn(t, redistest.Shared(t).Client(t), func(c *core.Config) {
		c.MapName = func(s string) string { return name + ":" + s }
	})
	s, err := NewPattern[string](e, name+":o*").Listen(t.Context())
	require.NoError(t, err)
	defer s.Close()
	topic := New[string](e, "orders")
	require.Equal(t, "orders", topic.Name())
	_, err = topic.Publish(t.Context(), "a")
	require.NoError(t, err)
	for m, err := range s.Messages(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, Message[string]{name + ":orders", "a"}, m)
		break
	}
}

// TestKindsAreTopicsOfTheirOwn also on one server and under one name.
func TestKindsAreTopicsOfTheirOwn(t *testing.T) {
	t.Parallel()
	e, name := engineOn(t, redistest.Shared(t).Client(t)), redistest.Name(t)
	plain, sharded := kinds["plain"](e, name), kinds["sharded"](e, name)
	p, s := plain.listening(t), sharded.listening(t)
	plain.publishes(t, "plain")
	sharded.publishes(t, "sharded")
	p.hears(t, "plain")
	s.hears(t, "sharded")
}
