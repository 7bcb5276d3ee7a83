package reliable

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestReceiveNTakesWhatIsReady, up to n, and waits for one message.
func TestReceiveNTakesWhatIsReady(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		_, err := r.ReceiveN(t.Context(), 0)
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, err = r.ReceiveN(t.Context(), mostTaken+1)
		require.ErrorIs(t, err, ErrInvalidArgument)
		other := r.other()
		got := make(chan []*Message[string], 1)
		go func() { all, _ := other.ReceiveN(t.Context(), 10); got <- all }()
		r.awaitIdle(1)
		r.adds("0")
		all := redistest.Done(t, got)
		require.Len(t, all, 1)
		for i := 1; i <= 7; i++ {
			r.adds(strconv.Itoa(i))
		}
		more, err := other.ReceiveN(t.Context(), 5)
		require.NoError(t, err)
		require.Len(t, more, 5)
		all = append(all, more...)
		more, err = other.ReceiveN(t.Context(), 5)
		require.NoError(t, err)
		require.Len(t, more, 2)
		all = append(all, more...)
		for i, m := range all {
			require.Equal(t, strconv.Itoa(i), m.Value)
		}
		require.NoError(t, r.Cancel(t.Context(), all[3].ID))
		require.NoError(t, all[4].Ack(t.Context()))
		err = r.AckAll(t.Context(), all...)
		require.ErrorIs(t, err, ErrLost)
		require.ErrorIs(t, err, ErrSettled)
		require.ErrorContains(t, err, decimal(all[3].ID))
		require.NotContains(t, err.Error(), decimal(all[5].ID))
		require.EqualValues(t, 7, r.counter("acked"))
		require.NoError(t, r.AckAll(t.Context()))
		require.ErrorIs(t, r.AckAll(t.Context(), nil), ErrInvalidArgument)
		r.leaves()
	})
}

// TestServeBatchHandlesMessagesTogether, each with an outcome of its own.
func TestServeBatchHandlesMessagesTogether(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r = r.with(WithMaxAttempts(3), WithBackoff(func(int) time.Duration { return 0 }))
		const n = 25
		var mu sync.Mutex
		var sizes []int
		tries := map[string]int{}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		for i := range n {
			r.adds(strconv.Itoa(i))
		}
		go func() {
			ended <- r.ServeBatch(ctx, 10, 0, func(_ context.Context, all []*Message[string]) []error {
				mu.Lock()
				defer mu.Unlock()
				sizes = append(sizes, len(all))
				errs := make([]error, len(all))
				for i, m := range all {
					tries[m.Value]++
					if m.Value == "7" && m.Attempt == 1 {
						errs[i] = errors.New("again")
					}
					if m.Value == "8" {
						errs[i] = Discard(errors.New("no"))
					}
				}
				if len(sizes) == 1 {
					return errs[:1+len(errs)/2] // which is wrong: all are tried again
				}
				if len(sizes) == 2 {
					panic("all fail")
				}
				return errs
			})
		}()
		redistest.Eventually(t, func() bool { return r.counter("acked")+r.counter("dead") == n }, soon, time.Millisecond)
		cancel()
		require.NoError(t, redistest.Done(t, ended))
		require.Equal(t, 10, sizes[0])
		require.LessOrEqual(t, len(sizes), 12, "they come together")
		require.Equal(t, 3, tries["0"])
		info := map[string]string{}
		for i, err := range r.Messages(t.Context(), Dead) {
			require.NoError(t, err)
			info[string(i.Body)] = i.Cause
		}
		require.Equal(t, "no", info["8"])
	})
}

// TestServeBatchWaitsForMore, and not longer than it is told.
func TestServeBatchWaitsForMore(t *testing.T) {
	t.Parallel()
	onServersTogether(t, func(t *testing.T, r *rig) {
		got := make(chan int, 10)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- r.ServeBatch(ctx, 3, time.Hour, func(_ context.Context, all []*Message[string]) []error {
				got <- len(all)
				return nil
			})
		}()
		for range 4 {
			r.adds("a")
		}
		require.Equal(t, 3, redistest.Done(t, got))
		redistest.Eventually(t, func() bool { s, err := r.Stats(t.Context()); return err == nil && s.Running == 1 }, soon, time.Millisecond)
		cancel()
		require.NoError(t, redistest.Done(t, ended))
		require.Empty(t, got, "the fourth goes back")
		m := r.gets("a")
		require.Equal(t, 1, m.Attempt)
		require.NoError(t, m.Ack(t.Context()))
		r.leaves()
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		go func() {
			ended <- r.ServeBatch(ctx, 3, 50*time.Millisecond, func(_ context.Context, all []*Message[string]) []error {
				got <- len(all)
				return nil
			})
		}()
		r.adds("b")
		require.Equal(t, 1, redistest.Done(t, got))
		cancel()
		require.NoError(t, redistest.Done(t, ended))
	})
}

// TestServeBatchNamesWhatItLeaves when its grace is over, and refuses what cannot be used.
func TestServeBatchNamesWhatItLeaves(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		h := func(ctx context.Context, all []*Message[string]) []error { return nil }
		require.ErrorIs(t, r.ServeBatch(t.Context(), 0, 0, h), ErrInvalidArgument)
		require.ErrorIs(t, r.ServeBatch(t.Context(), 1, -1, h), ErrInvalidArgument)
		require.ErrorIs(t, r.ServeBatch(t.Context(), 1, 0, nil), ErrInvalidArgument)
		require.ErrorIs(t, r.ServeBatch(t.Context(), 1, 0, h, WithConcurrency(0)), ErrInvalidArgument)
		r.with(WithMaxAttempts(3)).isEmpty()
		require.ErrorIs(t, r.ServeBatch(t.Context(), 1, 0, h, WithMaxAttempts(4)), ErrOtherTerms)
		began := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- r.ServeBatch(ctx, 2, 0, func(ctx context.Context, all []*Message[string]) []error {
				close(began)
				<-ctx.Done()
				return nil
			}, WithGrace(10*time.Millisecond))
		}()
		r.adds("a")
		redistest.Done(t, began)
		cancel()
		require.ErrorContains(t, redistest.Done(t, ended), "handlers of 1 messages have not ended")
		redistest.Eventually(t, func() bool { return r.counter("acked") == 1 }, soon, time.Millisecond)
		r.leaves()
	})
}

// TestServeBatchRefusesALimiter, which it would not ask.
func TestServeBatchRefusesALimiter(t *testing.T) {
	t.Parallel()
	r := rigOn(t, miniredisClient(t))
	ctx, cancel := timeout(t)
	defer cancel()
	err := r.ServeBatch(ctx, 1, 0, func(context.Context, []*Message[string]) []error { return nil }, WithLimiter(&turns{}))
	require.ErrorIs(t, err, ErrInvalidArgument)
}

// servesPairs serves batches of at most two, and tells of each.
func (r *rig) servesPairs(wait time.Duration) (got chan []*Message[string], stop func()) {
	got = make(chan []*Message[string], 10)
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- r.ServeBatch(ctx, 2, wait, func(_ context.Context, all []*Message[string]) []error {
			got <- all
			return nil
		})
	}()
	return got, func() {
		r.t.Helper()
		cancel()
		require.NoError(r.t, redistest.Done(r.t, ended))
	}
}

// running waits until so many messages are with consumers.
func (r *rig) running(n int64) {
	r.t.Helper()
	redistest.Eventually(r.t, func() bool { s, err := r.Stats(r.t.Context()); return err == nil && s.Running == n }, soon, time.Millisecond)
}

// TestServeBatchLeavesOutAMessageThatIsLostWhileItWaitsForOthers, and handles these.
func TestServeBatchLeavesOutAMessageThatIsLostWhileItWaitsForOthers(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		got, stop := r.servesPairs(time.Hour)
		id := r.adds("cancelled")
		r.running(1)
		var d *delivery
		redistest.Eventually(t, func() bool {
			r.h.hands.mu.Lock()
			defer r.h.hands.mu.Unlock()
			for _, one := range r.h.hands.all {
				d = one
			}
			return d != nil
		}, soon, time.Millisecond)
		require.NoError(t, r.Cancel(t.Context(), id))
		d.Ended(ErrCancelled) // as the word of it has it, which may not get through
		d.grant.Finish(core.ErrLost)
		r.adds("b")
		all := redistest.Done(t, got)
		require.Len(t, all, 1)
		require.Equal(t, "b", all[0].Value)
		stop()
		r.leaves()
	})
}

// TestServeBatchGivesBackWhatWaitsForOthersWhenTheQueueIsPaused, and a handler gets it when that is over.
func TestServeBatchGivesBackWhatWaitsForOthersWhenTheQueueIsPaused(t *testing.T) {
	t.Parallel()
	onServersTogether(t, func(t *testing.T, r *rig) {
		got, stop := r.servesPairs(2 * time.Second) // longer than it believes that there is no pause
		r.adds("a")
		r.running(1)
		require.NoError(t, r.Pause(t.Context(), 0))
		r.running(0)
		require.Empty(t, got)
		s, err := r.Stats(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, s.Ready)
		require.NoError(t, r.Resume(t.Context()))
		all := redistest.Done(t, got)
		require.Len(t, all, 1)
		require.Equal(t, 1, all[0].Attempt)
		stop()
		r.leaves()
	})
}

// TestServeBatchStartsTheTimeOfAnAttemptWithItsHandler, and not while the message waits for others.
func TestServeBatchStartsTheTimeOfAnAttemptWithItsHandler(t *testing.T) {
	t.Parallel()
	onServersTogether(t, func(t *testing.T, r *rig) {
		got, stop := r.servesPairs(2 * time.Second)
		r.adds("a", WithTimeout(time.Second))
		all := redistest.Done(t, got)
		require.Len(t, all, 1)
		require.Equal(t, 1, all[0].Attempt)
		stop()
	})
}

// TestServeBatchPausesBehindARefusal: it does not ask a server again at once that has taken a right away.
func TestServeBatchPausesBehindARefusal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	said := new(enginetest.Log)
	r := &rig{t: t, raw: server.Client(t), e: engineOn(t, server.Client(t), func(c *core.Config) { c.Logger = slog.New(slog.NewTextHandler(said, nil)) })}
	r.Queue = New[string](r.e, redistest.Name(t))
	began := time.Now()
	r.do("ACL", "SETUSER", "default", "-eval", "-evalsha")
	got, stop := r.servesPairs(0)
	times := func() int { return strings.Count(said.String(), "is not served, and tried again") }
	redistest.Eventually(t, func() bool { return times() >= 2 }, soon, time.Millisecond)
	time.Sleep(refusedFor)
	require.LessOrEqual(t, times(), 1+int(time.Since(began)/refusedFor))
	r.do("ACL", "SETUSER", "default", "+eval", "+evalsha")
	r.adds("a")
	require.Len(t, redistest.Done(t, got), 1)
	stop()
}
