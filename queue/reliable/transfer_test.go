package reliable

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/send"
)

// transferred is the answer of a Transfer.
type transferred struct {
	id  int64
	err error
}

// transfers begins a Transfer, which the caller ends.
func (r *rig) transfers(ctx context.Context, v string, opts ...AddOption) <-chan transferred {
	done := make(chan transferred, 1)
	go func() {
		id, err := r.Transfer(ctx, v, opts...)
		done <- transferred{id, err}
	}()
	return done
}

// awaitsTransfers waits until n calls of this client wait for the end of a message, and hear of it.
func (r *rig) awaitsTransfers(n int) {
	r.t.Helper()
	l := r.h.ears.Get(r.of.key)
	defer r.h.ears.Put(r.of.key, l)
	redistest.Eventually(r.t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.waiting) == n && (n == 0 || l.sub != nil)
	}, soon, time.Millisecond)
}

// TestTransferReturnsWhenItsMessageIsAcknowledged in each of the ways in which that is done, with and without other options, and
// not before.
func TestTransferReturnsWhenItsMessageIsAcknowledged(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		ways := map[string]func(m *Message[string]) error{
			"ack":    func(m *Message[string]) error { return m.Ack(t.Context()) },
			"result": func(m *Message[string]) error { return m.AckWith(t.Context(), []byte("r"), time.Millisecond) },
			"token": func(m *Message[string]) error {
				if err := m.Detach(t.Context(), time.Minute); err != nil {
					return err
				}
				return r.Ack(t.Context(), m.Token())
			},
			"retried": func(m *Message[string]) error {
				if err := m.Nack(t.Context(), errors.New("once"), WithDelay(0)); err != nil {
					return err
				}
				return r.gets("retried").Ack(t.Context())
			},
		}
		waiter := r.other()
		for v, acks := range ways {
			for _, opts := range [][]AddOption{nil, {WithPriority(3), WithGroup("g"), WithAttempts(4), WithUnique("u"), WithBackoff(func(int) time.Duration { return 0 })}} {
				done := waiter.transfers(t.Context(), v, opts...)
				m := r.gets(v)
				waiter.awaitsTransfers(1)
				require.Empty(t, done, v)
				require.NoError(t, acks(m), v)
				got := redistest.Done(t, done)
				require.NoError(t, got.err, v)
				require.Equal(t, m.ID, got.id, v)
			}
		}
		r.leaves()
	})
}

// TestTransferHearsOfAnAck, and of those of a whole step, without a look of its own seconds later.
func TestTransferHearsOfAnAck(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		redistest.Within(t, mostWait/2, func() time.Duration {
			waiter := r.other()
			dones := []<-chan transferred{waiter.transfers(t.Context(), "a"), waiter.transfers(t.Context(), "a"), waiter.transfers(t.Context(), "a")}
			waiter.awaitsTransfers(3)
			var all []*Message[string]
			for range dones {
				all = append(all, r.gets("a"))
			}
			began := time.Now()
			var acks sync.WaitGroup
			for _, m := range all {
				acks.Go(func() {
					if err := m.Ack(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			acks.Wait()
			for _, done := range dones {
				require.NoError(t, redistest.Done(t, done).err)
			}
			return time.Since(began)
		})
	})
}

// TestTransferEndsWithItsContext: the message is cancelled, and the error says whether a consumer has had it.
func TestTransferEndsWithItsContext(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		cause := errors.New("the caller has had enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		waiter := r.other()

		done := waiter.transfers(ctx, "ready")
		delayed := waiter.transfers(ctx, "delayed", WithDelay(time.Hour))
		behind := waiter.transfers(ctx, "first of g", WithGroup("g"))
		waiter.awaitsTransfers(3)
		cancel(cause)
		for _, done := range []<-chan transferred{done, delayed, behind} {
			got := redistest.Done(t, done)
			require.ErrorIs(t, got.err, ErrRemoved)
			require.NotErrorIs(t, got.err, ErrTaken)
			require.NotErrorIs(t, got.err, ErrOutcomeUnknown)
			require.ErrorIs(t, got.err, context.Canceled)
			require.ErrorIs(t, got.err, cause)
			require.NotZero(t, got.id)
		}
		r.isEmpty()

		ctx, stop := context.WithCancel(t.Context())
		done = waiter.transfers(ctx, "held")
		m := r.gets("held")
		waiter.awaitsTransfers(1)
		stop()
		got := redistest.Done(t, done)
		require.ErrorIs(t, got.err, ErrRemoved)
		require.ErrorIs(t, got.err, ErrTaken)
		require.ErrorIs(t, m.Ack(t.Context()), ErrCancelled)

		ctx, stop = context.WithCancel(t.Context())
		done = waiter.transfers(ctx, "had")
		m = r.gets("had")
		require.NoError(t, m.Release(t.Context(), WithDelay(time.Hour)))
		waiter.awaitsTransfers(1)
		stop()
		require.ErrorIs(t, redistest.Done(t, done).err, ErrTaken)
		r.isEmpty()
		r.leaves()
	})
}

// TestTransferSaysHowItsMessageHasEnded if it was not acknowledged.
func TestTransferSaysHowItsMessageHasEnded(t *testing.T) {
	t.Parallel()
	onServersTogether(t, func(t *testing.T, r *rig) {
		var waiter *rig
		ends := map[string]struct {
			opts []AddOption
			end  func(id int64)
			is   []error
			not  error
		}{
			"removed":   {nil, func(id int64) { require.NoError(t, r.Remove(t.Context(), id)) }, []error{ErrRemoved}, ErrTaken},
			"cancelled": {nil, func(id int64) { require.NoError(t, r.Cancel(t.Context(), id)) }, []error{ErrRemoved}, ErrTaken},
			"cancelled as held": {nil, func(id int64) {
				m := r.gets("cancelled as held")
				require.NoError(t, r.Cancel(t.Context(), id))
				require.ErrorIs(t, m.Ack(t.Context()), ErrCancelled)
			},
				[]error{ErrRemoved, ErrTaken}, ErrOutcomeUnknown},
			"expired": {[]AddOption{WithExpiry(time.Millisecond)}, func(int64) { time.Sleep(2 * time.Millisecond); r.isEmpty() }, []error{ErrExpired}, ErrRemoved},
			"buried": {[]AddOption{WithAttempts(1)}, func(int64) { require.NoError(t, r.gets("buried").Nack(t.Context(), errors.New("its cause"))) },
				[]error{ErrBuried}, ErrRemoved},
			"purged": {[]AddOption{WithAttempts(1)}, func(id int64) {
				require.NoError(t, r.gets("purged").Nack(t.Context(), errors.New("its cause")))
				_, err := r.Purge(t.Context(), id)
				require.NoError(t, err)
			}, []error{ErrBuried}, ErrOutcomeUnknown},
			"deleted": {nil, func(int64) {
				_, err := r.Delete(t.Context())
				require.NoError(t, err)
			}, []error{ErrOutcomeUnknown, ErrNotFound}, ErrRemoved},
			"forgotten": {nil, func(id int64) { r.do("HDEL", r.part("body"), decimal(id)); waiter.look() }, []error{ErrOutcomeUnknown, ErrNotFound}, ErrRemoved},
		}
		for what, e := range ends {
			waiter = r.other()
			done := waiter.transfers(t.Context(), what, e.opts...)
			waiter.awaitsTransfers(1)
			all := slices.Collect(func(yield func(int64) bool) {
				for m, err := range r.Messages(t.Context(), Ready) {
					require.NoError(t, err)
					if !yield(m.ID) {
						return
					}
				}
			})
			require.Len(t, all, 1, what)
			e.end(all[0])
			got := redistest.Done(t, done)
			for _, err := range e.is {
				require.ErrorIs(t, got.err, err, what)
			}
			require.NotErrorIs(t, got.err, e.not, what)
			require.Equal(t, all[0], got.id, what)
			if what == "buried" {
				require.ErrorContains(t, got.err, "its cause")
			}
			_, err := r.Delete(t.Context())
			require.NoError(t, err)
		}
	})
}

// TestTransferWhoseDeadMessageHasAHandler was buried, whatever the handler of the dead does with the message before Transfer looks.
func TestTransferWhoseDeadMessageHasAHandler(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		r := rigOn(t, server.Client(t))
		client, proxy := redistest.ThroughProxy(t, server)
		waiter := &rig{t: t, raw: r.raw, e: engineOn(t, client)}
		waiter.Queue = New[string](waiter.e, r.name)
		dead := r.dead()
		gone := func(m *Message[string]) {
			_, err := r.Find(t.Context(), m.ID)
			require.ErrorIs(t, err, ErrNotFound)
		}
		for what, c := range map[string]struct {
			handle func(m *Message[string])
			is     error // nil: it was acknowledged
		}{
			"is at it":     {func(*Message[string]) {}, ErrBuried},
			"acknowledges": {func(m *Message[string]) { require.NoError(t, m.Ack(t.Context())); gone(m) }, ErrBuried},
			"answers": {func(m *Message[string]) {
				require.NoError(t, m.AckWith(t.Context(), []byte("r"), time.Minute))
				gone(m)
			}, ErrBuried},
			"fails":        {func(m *Message[string]) { require.NoError(t, m.Nack(t.Context(), errAgain)) }, ErrBuried},
			"is cancelled": {func(m *Message[string]) { require.NoError(t, r.Cancel(t.Context(), m.ID)) }, ErrBuried},
			"has it tried again, and then it is acknowledged": {func(m *Message[string]) {
				require.NoError(t, m.Nack(t.Context(), errAgain, WithDelay(0)))
				require.NoError(t, r.gets(m.Value).Ack(t.Context()))
			}, nil},
		} {
			done := waiter.transfers(t.Context(), what, WithAttempts(1))
			m := r.gets(what)
			waiter.awaitsTransfers(1)
			proxy.AwaitCount(t, redistest.MatchScript(resultScript.Body()), 1)
			_, err := waiter.Result(t.Context(), m.ID)
			require.ErrorIs(t, err, ErrPending, "its first look is answered")
			look := proxy.HoldRequest(redistest.MatchScript(resultScript.Body()))
			require.NoError(t, m.Nack(t.Context(), errors.New("its cause")))
			look.Await(t)
			of := dead.gets(what)
			c.handle(of)
			look.Release()
			got := redistest.Done(t, done)
			_ = of.Ack(t.Context()) // unless it is settled
			require.Equal(t, m.ID, got.id, what)
			if c.is == nil {
				require.NoError(t, got.err, what)
			} else {
				require.ErrorIs(t, got.err, c.is, what)
				require.NotErrorIs(t, got.err, ErrRemoved, what)
				require.NotErrorIs(t, got.err, ErrOutcomeUnknown, what)
			}
			_, err = r.Delete(t.Context())
			require.NoError(t, err)
			proxy.ResetLog()
		}
	})
}

// TestResultOfADeadMessageWithAHandler says that it was buried, and by which cause.
func TestResultOfADeadMessageWithAHandler(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r = r.with(WithMaxAttempts(1))
		id := r.adds("a")
		require.NoError(t, r.gets("a").Nack(t.Context(), errors.New("its cause")))
		m := r.dead().gets("a")
		for _, ask := range []func(context.Context, int64) ([]byte, error){r.Result, r.Await} {
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			_, err := ask(ctx, id)
			cancel()
			require.ErrorIs(t, err, ErrBuried)
			require.ErrorContains(t, err, "its cause")
		}
		require.NoError(t, m.AckWith(t.Context(), []byte("r"), time.Minute))
		text, err := r.Result(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, "r", string(text))
		r.leaves()
	})
}

// TestTransferAddsNothing where Add adds nothing: the error is that of Add, and no message is waited for.
func TestTransferAddsNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		id := r.adds("a", WithUnique("u"))
		got, err := r.Transfer(t.Context(), "b", WithUnique("u"))
		require.ErrorIs(t, err, ErrDuplicate)
		require.Zero(t, got)
		dup := new(DuplicateError)
		require.ErrorAs(t, err, &dup)
		require.Equal(t, id, dup.ID)
		_, err = r.with(WithCapacity(1)).Transfer(t.Context(), "b")
		require.ErrorIs(t, err, ErrFull)
		_, err = r.Transfer(t.Context(), "b", WithPriority(256))
		require.ErrorIs(t, err, ErrInvalidArgument)
		var none context.Context
		_, err = r.Transfer(none, "b")
		require.ErrorIs(t, err, ErrInvalidArgument)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		got, err = r.Transfer(ctx, "b")
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, ErrOutcomeUnknown)
		require.Zero(t, got)
		r.acks("a")
		r.isEmpty()
	})
}

// TestTransferThatLeavesItsAdd: the message is cancelled when the add is answered.
func TestTransferThatLeavesItsAdd(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		r := rigOn(t, server.Client(t))
		client, proxy := redistest.ThroughProxy(t, server)
		waiter := &rig{t: t, raw: r.raw, e: engineOn(t, client)}
		waiter.Queue = New[string](waiter.e, r.name)
		waiter.adds("a", WithDelay(time.Hour)) // the script is known
		add := proxy.HoldRequest(redistest.MatchScript(addScript.Body()))
		ctx, cancel := context.WithCancel(t.Context())
		done := waiter.transfers(ctx, "left")
		add.Await(t)
		cancel()
		got := redistest.Done(t, done)
		require.ErrorIs(t, got.err, ErrOutcomeUnknown)
		require.ErrorIs(t, got.err, context.Canceled)
		require.Zero(t, got.id)
		add.Release()
		redistest.Eventually(t, func() bool { return r.counter("removed") == 1 }, soon, time.Millisecond)
		r.isEmpty()
	})
}

// TestTransferWhoseRepliesAreLost says the truth: of each script one reply is dropped, and the cancellation is known again.
func TestTransferWhoseRepliesAreLost(t *testing.T) {
	t.Parallel()
	onRealTogether(t, func(t *testing.T, server *redistest.Server) {
		r := rigOn(t, server.Client(t))
		client, proxy := redistest.ThroughProxy(t, server)
		waiter := r.by(client, quickly)
		for _, script := range []string{addScript.Body(), resultScript.Body(), removeScript.Body()} {
			drop := proxy.DropReply(redistest.MatchScript(script), 1)
			ctx, cancel := context.WithCancel(t.Context())
			done := waiter.transfers(ctx, "a")
			waiter.awaitsTransfers(1)
			if script != removeScript.Body() { // which only the cancellation sends
				redistest.Eventually(t, func() bool { return drop.Dropped() == 1 }, soon, time.Millisecond)
			}
			cancel()
			got := redistest.Done(t, done)
			require.ErrorIs(t, got.err, ErrRemoved)
			require.NotErrorIs(t, got.err, ErrTaken)
			require.Equal(t, 1, drop.Dropped())
			r.isEmpty()
		}
		require.EqualValues(t, 3, r.counter("removed"))

		ctx, cancel := context.WithCancel(t.Context())
		done := waiter.transfers(ctx, "a")
		waiter.awaitsTransfers(1)
		proxy.BlackHole()
		cancel()
		got := redistest.Done(t, done)
		require.ErrorIs(t, got.err, ErrOutcomeUnknown)
		require.ErrorIs(t, got.err, context.Canceled)
		require.NotZero(t, got.id)
		require.NotErrorIs(t, got.err, ErrRemoved)
		proxy.Restore()
		_, err := r.Find(t.Context(), got.id)
		require.True(t, err == nil || errors.Is(err, ErrNotFound), "%v", err)
	})
}

// TestTransferOfAnAckedMessageWhoseContextEnds was acknowledged: the cancellation finds how it has ended.
func TestTransferOfAnAckedMessageWhoseContextEnds(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		id := r.adds("a", awaitedOption)
		r.acks("a")
		how, err := r.withdraw(t.Context(), id)
		require.NoError(t, err)
		require.NoError(t, ended(how, "", context.Canceled))

		id = r.adds("b", awaitedOption, WithAttempts(1))
		require.NoError(t, r.gets("b").Nack(t.Context(), nil))
		how, err = r.withdraw(t.Context(), id)
		require.NoError(t, err)
		require.ErrorIs(t, ended(how, "", context.Canceled), ErrBuried)
		_, err = r.Find(t.Context(), id)
		require.NoError(t, err, "a dead letter stays")
	})
}

// TestTransferHearsNothing: its user may not subscribe. It looks by itself.
func TestTransferHearsNothing(t *testing.T) {
	t.Parallel()
	onRealTogether(t, func(t *testing.T, server *redistest.Server) {
		r := rigOn(t, server.Client(t))
		client, proxy := redistest.ThroughProxy(t, server)
		waiter := &rig{t: t, raw: r.raw, e: engineOn(t, client)}
		waiter.Queue = New[string](waiter.e, r.name)
		done := waiter.transfers(t.Context(), "a")
		waiter.awaitsTransfers(1)
		require.Positive(t, proxy.BlackHoleReplies(subscribes))
		r.acks("a")
		require.NoError(t, redistest.Done(t, done).err)
		proxy.Restore()
	})
}

// subscribes reports whether a connection is one that hears of what is published.
func subscribes(c redistest.Conn) bool {
	return slices.ContainsFunc(c.Commands, func(words []string) bool { return strings.EqualFold(words[0], "SUBSCRIBE") })
}

// TestTransferOfAClosedClient cancels what it waits for before Close returns.
func TestTransferOfAClosedClient(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		for range 10 {
			waiter := r.other()
			done := waiter.transfers(t.Context(), "a")
			waiter.awaitsTransfers(1)
			require.NoError(t, locking.Close(t.Context(), waiter.e))
			got := redistest.Done(t, done)
			require.ErrorIs(t, got.err, ErrClosed)
			require.ErrorIs(t, got.err, ErrRemoved)
			require.NotErrorIs(t, got.err, ErrTaken)
			r.isEmpty()
			_, err := waiter.Transfer(t.Context(), "b")
			require.ErrorIs(t, err, ErrClosed)
		}
	})
}

// TestManyTransfers have no goroutine each beside their caller's, and are added, looked for and cancelled together.
func TestManyTransfers(t *testing.T) {
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t))
	waiter := r.other()
	n := redistest.Count(t, 2000, 10_000)
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	var dones sync.WaitGroup
	removed := make([]error, n)
	for i := range n {
		dones.Go(func() { _, removed[i] = waiter.Transfer(ctx, strconv.Itoa(i)) })
	}
	waiter.awaitsTransfers(n)
	require.Less(t, runtime.NumGoroutine()-before-n, 100)
	held := make([]*Message[string], 0, n/2)
	for len(held) < n/2 {
		all, err := r.ReceiveN(t.Context(), min(n/2-len(held), 500))
		require.NoError(t, err)
		held = append(held, all...)
	}
	for _, m := range held[:n/4] {
		require.NoError(t, m.Ack(t.Context()))
	}
	waiter.awaitsTransfers(n - n/4)
	server.ResetStats()
	cancel()
	dones.Wait()
	require.Less(t, server.CommandCalls(t, "evalsha"), int64(n/10))
	var acked, taken, never int
	for i, err := range removed {
		switch {
		case err == nil:
			acked++
		case errors.Is(err, ErrTaken):
			taken++
		case errors.Is(err, ErrRemoved):
			never++
		default:
			t.Errorf("%d: %v", i, err)
		}
	}
	for _, m := range held[n/4:] {
		require.ErrorIs(t, m.Ack(t.Context()), ErrCancelled)
	}
	require.Equal(t, []int{n / 4, n/2 - n/4, n - n/2}, []int{acked, taken, never})
	r.isEmpty()
}

// TestManyCancellationsKeepTheServerShortly: those of Transfers that leave together are cut, whatever the states of their messages.
func TestManyCancellationsKeepTheServerShortly(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t))
	metered := redistest.Meter(t, server)
	waiter := r.by(metered)
	most, what := time.Duration(math.MaxInt64), ""
	for round := 0; round < 8 && most >= redistest.Scaled(5*time.Millisecond); round++ { // what else the machine does may make one take longer
		most, what = r.cancelsMany(waiter, server, metered, redistest.Count(t, 1000, 10_000))
	}
	require.Less(t, most, redistest.Scaled(5*time.Millisecond), what)
}

// cancelsMany cancels n Transfers of a waiter together, of which a quarter is held, and returns how long one call kept the server at most.
func (r *rig) cancelsMany(waiter *rig, server *redistest.Server, metered *redistest.Metered, n int) (time.Duration, string) {
	t := r.t
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	var removed atomic.Int64
	for i := range n {
		opts := []AddOption{WithUnique(strconv.Itoa(i))}
		switch i % 4 {
		case 1:
			opts = append(opts, WithDelay(time.Hour))
		case 2:
			opts = append(opts, WithGroup("g"+strconv.Itoa(i%7)), WithPriority(i%5))
		}
		all.Go(func() {
			if _, err := waiter.Transfer(ctx, "v", opts...); errors.Is(err, ErrRemoved) {
				removed.Add(1)
			}
		})
	}
	waiter.awaitsTransfers(n)
	var held []*Message[string]
	for len(held) < n/4 {
		some, err := r.ReceiveN(t.Context(), 100)
		require.NoError(t, err)
		held = append(held, some...)
	}
	server.ResetStats()
	metered.Most()
	cancel()
	all.Wait()
	most, what := metered.Most()
	require.EqualValues(t, n, removed.Load())
	calls := server.CommandCalls(t, "evalsha")
	t.Logf("%d calls for %d cancellations, %v of the server at most: %s", calls, n, most, what)
	require.Less(t, calls, int64(n/10), "they are cancelled together")
	for _, m := range held {
		require.ErrorIs(t, m.Ack(t.Context()), ErrCancelled)
	}
	return most, what
}

// TestCancellationsOfMessagesThatNobodyHas do not walk over what consumers have.
func TestCancellationsOfMessagesThatNobodyHas(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		r := rigOn(t, server.Client(t))
		r.adds("held")
		m := r.gets("held")
		id := r.adds("dead", awaitedOption, WithAttempts(1))
		require.NoError(t, r.gets("dead").Nack(t.Context(), errAgain))
		ids := []int64{id, r.adds("delayed", WithDelay(time.Hour)), r.adds("prior", WithPriority(1))}
		server.ResetStats()
		cancels := func(want string) {
			t.Helper()
			batch := make([]*withdrawCall, len(ids))
			for i, id := range ids {
				batch[i] = &withdrawCall{Ask: asking{r.of, id}}
			}
			require.NoError(t, r.h.sendWithdrawals(r.of.key, 0, batch))
			got := ""
			for _, c := range batch {
				got += string(c.Answer)
			}
			require.Equal(t, want, got)
		}
		cancels("311")
		require.Zero(t, server.CommandCalls(t, "zscan"))
		ids = []int64{r.adds("ready"), m.ID, 1}
		cancels("120")
		require.EqualValues(t, 1, server.CommandCalls(t, "zscan"))
		require.ErrorIs(t, m.Ack(t.Context()), ErrCancelled)
	})
}

// TestTransfersTellTheTruth while consumers are killed, connections are cut, and scripts are sent twice and late: what is said to be
// acknowledged was handled, and what no consumer is said to have had was not.
func TestTransfersTellTheTruth(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		r := rigOn(t, server.Client(t))
		client, proxy := redistest.ThroughProxy(t, server)
		sender := &rig{t: t, raw: r.raw, e: engineOn(t, doubling{client, &sendings{}})}
		sender.Queue = New[string](sender.e, r.name)
		children := []*redistest.Child{r.child(server.Addr(), "serves", time.Second, 1000), r.child(server.Addr(), "serves", time.Second, 1000)}
		n := redistest.Count(t, 400, 5000)
		answers := make([]error, n)
		var workers sync.WaitGroup
		next := make(chan int)
		for range 20 {
			workers.Go(func() {
				for i := range next {
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond<<rand.N(10))
					_, answers[i] = sender.Transfer(ctx, strconv.Itoa(i))
					cancel()
				}
			})
		}
		for i := range n {
			next <- i
			switch {
			case i%80 == 79:
				children[i/80%2].Kill()
				children[i/80%2] = r.child(server.Addr(), "serves", time.Second, 1000)
			case i%40 == 39:
				proxy.CutAll()
			}
		}
		close(next)
		workers.Wait()
		redistest.Eventually(t, func() bool {
			s, err := r.Stats(t.Context())
			return err == nil && s.Ready+s.Running+s.Delayed == 0
		}, 3*soon, 10*time.Millisecond)
		m := r.do("LRANGE", log(r.name, ""), "0", "-1")
		handled, err := m.AsStrSlice()
		require.NoError(t, err)
		counts := map[string]int{}
		for i, err := range answers {
			was := slices.Contains(handled, strconv.Itoa(i))
			switch {
			case err == nil:
				counts["acknowledged"]++
				require.True(t, was, i)
			case errors.Is(err, ErrOutcomeUnknown):
				counts["unknown"]++
			case errors.Is(err, ErrRemoved) && !errors.Is(err, ErrTaken):
				counts["removed"]++
				require.False(t, was, i)
			case errors.Is(err, ErrTaken):
				counts["taken"]++
			default:
				require.True(t, errors.Is(err, context.DeadlineExceeded) || send.Transient(err), "%d: %v", i, err)
				counts["not added"]++
				require.False(t, was, i)
			}
		}
		t.Log(counts)
		require.Positive(t, counts["acknowledged"])
		require.Positive(t, counts["removed"]+counts["taken"])
	})
}

// TestATransferBesideALongHistory: what is kept of those that are done does not push out how the message has ended.
func TestATransferBesideALongHistory(t *testing.T) {
	t.Parallel()
	on := redistest.OnServers
	if !redistest.Soaking() { // the embedded server takes ten seconds for so many
		on = func(t *testing.T, test func(t *testing.T, raw rueidis.Client)) { redistest.OnReal(t, test) }
	}
	on(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, WithKeepDone(24*time.Hour))
		finished, until := r.of.parts[18], r.of.parts[19]
		tomorrow := decimal(time.Now().Add(23 * time.Hour).UnixMilli())
		for from := int64(0); from < 100_000; from += 5000 {
			known, ends := []string{"HSET", finished}, []string{"ZADD", until}
			for n := from; n < from+5000; n++ {
				known, ends = append(known, "8"+decimal(n), "d 1 1 1 1 x"), append(ends, tomorrow, "8"+decimal(n))
			}
			r.do(known...)
			r.do(ends...)
		}
		done := r.transfers(t.Context(), "a")
		r.acks("a")
		require.NoError(t, redistest.Done(t, done).err)
	})
}
