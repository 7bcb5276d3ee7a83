package semaphore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestSemaphoreWaitersLearnOfAnOutageTogether, after one watchdog timeout and not one
// after another.
func TestSemaphoreWaitersLearnOfAnOutageTogether(t *testing.T) {
	t.Parallel()
	const waiters = 20
	short := func(c *core.Config) { c.WatchdogTimeout = 2 * time.Second }
	server := redistest.Shared(t)
	through, proxy := redistest.ThroughProxy(t, server)
	plain := rigOn(t, through, redistest.Name(t), short)
	held := permitRigOn(t, through, redistest.Name(t), short)
	plain.set(1).take(1)
	held.set(1)
	held.Ask("SET", held.of.key, "0")
	var ends []<-chan error
	for range waiters {
		ends = append(ends, plain.acquiring(t.Context(), 1))
	}
	plain.waiting(waiters)
	for range waiters {
		done := make(chan error, 1)
		go func() { // ends with the outage
			_, err := held.Acquire(context.Background())
			done <- err
		}()
		ends = append(ends, done)
	}
	held.waiting(waiters)
	proxy.Refuse()
	proxy.CutAll()
	for _, done := range ends {
		err := redistest.Done(t, done)
		require.Error(t, err)
		require.NotErrorIs(t, err, ErrClosed)
		require.NotErrorIs(t, err, ErrNotAcquired)
	}
	proxy.Accept()
}

// TestSemaphoreWaitThatEndsWithoutAnAnswerIsNoRefusal, also of those who wait in line
// for another.
func TestSemaphoreWaitThatEndsWithoutAnAnswerIsNoRefusal(t *testing.T) {
	t.Parallel()
	const waiters = 3
	server := redistest.Shared(t)
	through, proxy := redistest.ThroughProxy(t, server)
	plain := rigOn(t, through, redistest.Name(t)).set(1)
	held := permitRigOn(t, through, redistest.Name(t)).set(1)
	plain.take(1)
	held.take(WithLease(time.Hour))
	wait := WithWait(2 * time.Second)
	tries := map[string]func() error{
		"plain": func() error { return plain.TryAcquire(context.Background(), 1, wait) },
		"permit": func() error {
			_, err := held.TryAcquire(context.Background(), wait)
			return err
		},
	}
	all := func(is, not error) {
		t.Helper()
		ends := make(map[string]chan error)
		for name, try := range tries {
			done := make(chan error, waiters)
			ends[name] = done
			for range waiters {
				go func() { done <- try() }() // ends with its wait
			}
		}
		for name, done := range ends {
			for range waiters {
				err := redistest.Done(t, done)
				require.ErrorIs(t, err, is, name)
				require.NotErrorIs(t, err, not, name)
			}
		}
	}
	all(ErrNotAcquired, context.DeadlineExceeded)
	wait = WithWait(500 * time.Millisecond)
	proxy.BlackHole()
	all(context.DeadlineExceeded, ErrNotAcquired)
	proxy.Restore()
}

// TestSemaphoreWordOfTheServerEndsWithItsAge.
func TestSemaphoreWordOfTheServerEndsWithItsAge(t *testing.T) {
	t.Parallel()
	on := newRig(t, aSecond).E.Waits
	over, away := errors.New("over"), errors.New("away")
	var w lastAnswer
	require.Equal(t, over, w.end(on, over), "no answer yet")
	w.heard(on, nil)
	require.Equal(t, ErrNotAcquired, w.end(on, over))
	w.heard(on, away)
	require.ErrorIs(t, w.end(on, over), over)
	require.ErrorIs(t, w.end(on, over), away)
	w.heard(on, errNotSet)
	require.ErrorIs(t, w.end(on, over), ErrNotSet)
	w.when -= time.Second
	require.Equal(t, over, w.end(on, over), "it is too old")
}
