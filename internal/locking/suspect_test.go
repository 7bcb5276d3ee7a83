package locking

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

// logbook keeps what is warned of.
type logbook struct {
	mu    sync.Mutex
	lines []string
}

func (b *logbook) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, string(line))
	return len(line), nil
}

func (b *logbook) suspicions() (found []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range b.lines {
		if strings.Contains(line, "this client holds itself") {
			found = append(found, line)
		}
	}
	return found
}

func newLogged(t *testing.T) (*fakeServer, *logbook) {
	b := new(logbook)
	return newFake(t, func(c *core.Config) {
		c.Logger = slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelWarn}))
		c.HandoverTime = 10 * time.Millisecond
	}), b
}

func TestAWaitBehindAnOwnHolderIsWarnedOfOnceForEachHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := newLogged(t)
		held := s.take(t)
		for hold := 1; hold <= 2; hold++ {
			first := s.acquire(t.Context(), Ask{})
			synctest.Wait()
			second := s.acquire(t.Context(), Ask{})
			time.Sleep(s.e.WatchdogTimeout - time.Second)
			require.Len(t, log.suspicions(), hold-1, "many a critical section takes a while")
			time.Sleep(s.e.WatchdogTimeout + 2*time.Second)
			require.Len(t, log.suspicions(), hold)
			line := log.suspicions()[hold-1]
			require.Contains(t, line, "name=fake")
			require.Contains(t, line, "owner="+held.Owner())
			require.Contains(t, line, "Hold.Context")
			time.Sleep(10 * s.e.WatchdogTimeout)
			require.Len(t, log.suspicions(), hold, "once")

			require.NoError(t, held.Release(t.Context()))
			held = (<-first).held
			require.NoError(t, held.Release(t.Context()))
			held = (<-second).held
		}
		require.NoError(t, held.Release(t.Context()))
	})
}

// TestNestedLockIsWarnedOfWithoutALogger is not parallel: the default logger is the process's.
func TestNestedLockIsWarnedOfWithoutALogger(t *testing.T) {
	log, before := new(logbook), slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t, func(c *core.Config) { c.Logger = nil })
		held := s.take(t)
		nested := s.acquire(t.Context(), Ask{})
		time.Sleep(2 * s.e.WatchdogTimeout)
		require.Len(t, log.suspicions(), 1)
		require.Contains(t, log.suspicions()[0], "level=WARN")
		require.NoError(t, held.Release(t.Context()))
		require.NoError(t, (<-nested).held.Release(t.Context()))
	})
}

func TestAWaitThatOutlastsTheOneAheadIsWarnedOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := newLogged(t)
		held := s.take(t)
		first := s.acquire(t.Context(), Ask{Bounded: true, Wait: s.e.WatchdogTimeout / 2})
		synctest.Wait()
		second := s.acquire(t.Context(), Ask{})
		require.ErrorIs(t, (<-first).err, core.ErrNotAcquired)
		time.Sleep(2 * s.e.WatchdogTimeout)
		require.Len(t, log.suspicions(), 1)
		require.NoError(t, held.Release(t.Context()))
		held = (<-second).held
		require.NoError(t, held.Release(t.Context()))
	})
}

func TestAWaitBehindAnotherProcessIsNotWarnedOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := newLogged(t)
		s.occupy(0)
		var waiting []<-chan outcome
		for range 2 {
			waiting = append(waiting, s.acquire(t.Context(), Ask{}))
			synctest.Wait()
		}
		time.Sleep(3 * s.e.WatchdogTimeout)
		s.vacate()
		for _, w := range waiting {
			o := <-w
			require.NoError(t, o.err)
			require.NoError(t, o.held.Release(t.Context()))
		}
		require.Empty(t, log.suspicions())
	})
}

func TestALongQueueIsNotWarnedOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := newLogged(t)
		held := s.take(t)
		const waiters = 10
		var waiting []<-chan outcome
		for range waiters {
			waiting = append(waiting, s.acquire(t.Context(), Ask{}))
			synctest.Wait()
		}
		for _, w := range waiting {
			time.Sleep(s.e.WatchdogTimeout / 2)
			require.NoError(t, held.Release(t.Context()))
			held = (<-w).held
		}
		require.NoError(t, held.Release(t.Context()))
		require.Empty(t, log.suspicions())
	})
}

// TestOneThatStandsBackLooksForAHolderOnce has one who shares ask the server many times
// after it has stood back for long enough.
func TestOneThatStandsBackLooksForAHolderOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := newLogged(t)
		s.set(func() { s.hint = 1 }) // so that holds are brief
		first := s.readers(t, 1)[0]
		time.Sleep(briefly)
		s.set(func() { s.claimed = true })
		second := s.acquire(t.Context(), shares)
		time.Sleep(s.e.WatchdogTimeout + 2*send.LongestSleep)
		require.Len(t, log.suspicions(), 1)
		first.Mu.Lock()
		first.suspected = false // another look would find it again
		first.Mu.Unlock()
		tries := len(s.triesSince(0))
		time.Sleep(3 * send.LongestSleep)
		require.Greater(t, len(s.triesSince(0)), tries)
		require.Len(t, log.suspicions(), 1)
		s.set(func() { s.claimed = false })
		require.NoError(t, (<-second).held.Release(t.Context()))
		require.NoError(t, first.Release(t.Context()))
	})
}
