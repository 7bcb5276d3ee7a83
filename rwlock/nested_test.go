package rwlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rwlock"
)

// pair is one lock as two processes see it.
func pair(t testing.TB, opts ...rueidisson.Option) (here, there *rwlock.Lock) {
	t.Helper()
	addr, name := redistest.Shared(t).Addr(), redistest.Name(t)
	return locktest.Open(t, addr, opts...).RWLock(name), locktest.Open(t, addr, opts...).RWLock(name)
}

// under takes a side under the context of holds, the outermost first.
func under(t testing.TB, side *rwlock.Side, holds ...*lock.Hold) (*lock.Hold, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	for _, h := range holds {
		ctx = h.Context(ctx)
	}
	return side.TryLock(ctx)
}

func TestManyReadAtOnceAndNobodyWrites(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	holds := []*lock.Hold{locktest.Take(t, here.Read()), locktest.Take(t, here.Read()), locktest.Take(t, there.Read()), locktest.Take(t, there.Read(), lock.WithLease(time.Minute))}
	for range 20 {
		holds = append(holds, locktest.Take(t, here.Read()))
	}
	locktest.RequireBusy(t, here.Write())
	locktest.RequireBusy(t, there.Write())
	readers, err := there.Readers(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(readers), 3, "a fixed lease has one of its own")
	require.Less(t, len(readers), len(holds), "goroutines of one process share one, or some on a slow machine")
	for _, r := range readers {
		require.Equal(t, 1, r.Count)
		require.Greater(t, r.Remaining, 20*time.Second)
		require.LessOrEqual(t, r.Remaining, 30*time.Second, "in steps of the watchdog timeout")
	}
	for _, h := range holds {
		locktest.Unlock(t, h)
	}
	locked, err := here.Locked(t.Context())
	require.NoError(t, err)
	require.False(t, locked)
	locktest.Unlock(t, locktest.Take(t, there.Write()))
}

func TestAWriterIsAlone(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	hold := locktest.Take(t, here.Write())
	for _, side := range []*rwlock.Side{here.Read(), here.Write(), there.Read(), there.Write()} {
		locktest.RequireBusy(t, side)
	}
	writer, err := there.Writer(t.Context())
	require.NoError(t, err)
	require.True(t, writer.Held())
	require.False(t, writer.Mine)
	require.Contains(t, writer.Owner, ":write")
	left, err := there.Remaining(t.Context())
	require.NoError(t, err)
	require.Greater(t, left, 20*time.Second)
	readers, err := there.Readers(t.Context())
	require.NoError(t, err)
	require.Empty(t, readers)
	locktest.Unlock(t, hold)
	writer, err = here.Writer(t.Context())
	require.NoError(t, err)
	require.False(t, writer.Held())
}

func TestAReadHoldUnderAWriteHoldTakesItsPlace(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	write := locktest.Take(t, here.Write())
	read, err := under(t, here.Read(), write)
	require.NoError(t, err)
	locktest.RequireBusy(t, there.Read())
	locktest.Unlock(t, write)
	require.NoError(t, read.Err())
	require.ErrorIs(t, write.Err(), lock.ErrReleased)
	locktest.RequireBusy(t, there.Write())
	locktest.RequireBusy(t, here.Write())
	other := locktest.Take(t, there.Read())
	writer, err := there.Writer(t.Context())
	require.NoError(t, err)
	require.False(t, writer.Held())
	locktest.Unlock(t, read)
	locktest.RequireBusy(t, here.Write())
	locktest.Unlock(t, other)
	locktest.Unlock(t, locktest.Take(t, here.Write()))
}

func TestAReadHoldUnderAWriteHoldMayGoFirst(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	write := locktest.Take(t, here.Write())
	read, err := under(t, here.Read(), write)
	require.NoError(t, err)
	again, err := under(t, here.Read(), write, read)
	require.NoError(t, err)
	locktest.Unlock(t, read)
	locktest.Unlock(t, again)
	require.NoError(t, write.Err())
	locktest.RequireBusy(t, there.Read())
	locktest.Unlock(t, write)
	locktest.Unlock(t, locktest.Take(t, there.Write()))
}

func TestADowngradeLetsAllWaitingReadersIn(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	write := locktest.Take(t, here.Write())
	var waiting sync.WaitGroup
	for _, side := range []*rwlock.Side{here.Read(), here.Read(), there.Read(), there.Read()} {
		waiting.Go(func() {
			hold, err := side.Lock(t.Context())
			if assert.NoError(t, err) {
				assert.NoError(t, hold.Unlock(context.Background()))
			}
		})
	}
	require.Eventually(t, func() bool { n, err := here.Waiting(t.Context()); return err == nil && n == 1 }, redistest.Soon, time.Millisecond)
	read, err := under(t, here.Read(), write)
	require.NoError(t, err)
	locktest.Unlock(t, write)
	waiting.Wait() // the read hold stands all the time
	require.NoError(t, read.Err())
	locktest.RequireBusy(t, there.Write())
	locktest.Unlock(t, read)
}

func TestReadersOfTheProcessComeBehindItsWriter(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	write := locktest.Take(t, here.Write())
	got := make(chan *lock.Hold, 3)
	for range cap(got) {
		go func() { // ends with the hold
			hold, err := here.Read().Lock(context.Background())
			assert.NoError(t, err)
			got <- hold
		}()
	}
	time.Sleep(50 * time.Millisecond) // so that they wait, all or some
	locktest.Unlock(t, write)
	for range cap(got) {
		hold := <-got
		require.NotNil(t, hold)
		defer locktest.Unlock(t, hold)
	}
	locktest.RequireBusy(t, there.Write())
}

func TestAWriterUnderAReadHoldIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	read := locktest.Take(t, here.Read())
	_, err := under(t, here.Write(), read)
	require.ErrorIs(t, err, rwlock.ErrUpgrade)
	_, err = here.Write().Lock(read.Context(t.Context()))
	require.ErrorIs(t, err, rwlock.ErrUpgrade)
	require.NoError(t, read.Err())
	locktest.Unlock(t, read)
	hold, err := under(t, there.Write(), read)
	require.ErrorIs(t, err, context.Canceled, "the context has ended with the hold")
	require.Nil(t, hold)
}

func TestAWriterReentersAWriteHoldBehindAReadHold(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	write := locktest.Take(t, here.Write())
	read, err := under(t, here.Read(), write)
	require.NoError(t, err)
	again, err := under(t, here.Write(), write, read)
	require.NoError(t, err)
	locktest.Unlock(t, write)
	require.NoError(t, again.Err())
	locktest.RequireBusy(t, there.Read())
	locktest.Unlock(t, again)
	require.NoError(t, read.Err())
	locktest.Unlock(t, locktest.Take(t, there.Read()))
	_, err = under(t, here.Write(), read)
	require.ErrorIs(t, err, rwlock.ErrUpgrade, "the write hold has ended")
	locktest.Unlock(t, read)
}

func TestAReadHoldUnderAWriteHoldEndsWithALoss(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	write := locktest.Take(t, here.Write())
	read, err := under(t, here.Read(), write)
	require.NoError(t, err)
	work := read.Context(t.Context())
	held, err := here.Write().ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, held)
	<-work.Done()
	require.ErrorIs(t, context.Cause(work), lock.ErrLost)
	<-write.Lost()
	<-read.Lost()
	require.ErrorIs(t, read.Unlock(t.Context()), lock.ErrLost)
	require.ErrorIs(t, write.Unlock(t.Context()), lock.ErrLost)
	locktest.Unlock(t, locktest.Take(t, there.Write()))
}

func TestForceUnlockOfOneSideLeavesTheOther(t *testing.T) {
	t.Parallel()
	here, there := pair(t, rueidisson.WithWatchdogTimeout(6*time.Second))
	for _, of := range []struct{ side, other, forces, not *rwlock.Side }{
		{here.Read(), here.Write(), there.Read(), there.Write()},
		{here.Write(), here.Read(), there.Write(), there.Read()},
	} {
		held, err := of.forces.ForceUnlock(t.Context())
		require.NoError(t, err)
		require.False(t, held, "nobody held it")
		hold := locktest.Take(t, of.side)
		held, err = of.not.ForceUnlock(t.Context())
		require.NoError(t, err)
		require.False(t, held)
		held, err = of.forces.ForceUnlock(t.Context())
		require.NoError(t, err)
		require.True(t, held)
		<-hold.Lost() // at the next renewal
		require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	}
}

func TestHoldsOfReadersAndWritersHaveNoToken(t *testing.T) {
	t.Parallel()
	l, _ := pair(t)
	for _, side := range []*rwlock.Side{l.Read(), l.Write()} {
		hold := locktest.Take(t, side)
		_, err := hold.Token(t.Context())
		require.ErrorIs(t, err, lock.ErrToken)
		locktest.Unlock(t, hold)
	}
}

func TestAnotherFamilysLockOfTheNameIsRefused(t *testing.T) {
	t.Parallel()
	addr, name := redistest.Shared(t).Addr(), redistest.Name(t)
	here, there := locktest.Open(t, addr), locktest.Open(t, addr)
	plain := locktest.Take(t, here.Lock(name))
	for _, side := range []*rwlock.Side{here.RWLock(name).Read(), here.RWLock(name).Write(), there.RWLock(name).Read(), there.RWLock(name).Write()} {
		_, err := side.TryLock(t.Context())
		require.ErrorIs(t, err, lock.ErrWrongKind)
		_, err = side.Lock(plain.Context(t.Context()))
		require.ErrorIs(t, err, lock.ErrWrongKind)
	}
	for op, call := range map[string]func() error{
		"force read":  func() error { _, err := there.RWLock(name).Read().ForceUnlock(t.Context()); return err },
		"force write": func() error { _, err := there.RWLock(name).Write().ForceUnlock(t.Context()); return err },
		"readers":     func() error { _, err := there.RWLock(name).Readers(t.Context()); return err },
		"writer":      func() error { _, err := there.RWLock(name).Writer(t.Context()); return err },
	} {
		require.ErrorIs(t, call(), lock.ErrWrongKind, op)
	}
	locktest.Unlock(t, plain)
	for _, side := range []*rwlock.Side{here.RWLock(name).Read(), here.RWLock(name).Write()} {
		hold := locktest.Take(t, side)
		_, err := there.Lock(name).TryLock(t.Context())
		require.ErrorIs(t, err, lock.ErrWrongKind)
		_, err = here.Lock(name).TryLock(hold.Context(t.Context()))
		require.ErrorIs(t, err, lock.ErrWrongKind)
		locktest.Unlock(t, hold)
	}
}

func TestAGroupOfTheNameIsCalledAGroup(t *testing.T) {
	t.Parallel()
	addr, name := redistest.Shared(t).Addr(), redistest.Name(t)
	group := locktest.Take(t, locktest.Open(t, addr).LockGroup(name).Of("a", "b"))
	l := locktest.Open(t, addr).RWLock(name)
	for op, call := range map[string]func() error{
		"read":        func() error { _, err := l.Read().TryLock(t.Context()); return err },
		"write":       func() error { _, err := l.Write().TryLock(t.Context()); return err },
		"force read":  func() error { _, err := l.Read().ForceUnlock(t.Context()); return err },
		"force write": func() error { _, err := l.Write().ForceUnlock(t.Context()); return err },
		"readers":     func() error { _, err := l.Readers(t.Context()); return err },
		"writer":      func() error { _, err := l.Writer(t.Context()); return err },
	} {
		err := call()
		require.ErrorIs(t, err, lock.ErrWrongKind, op)
		require.ErrorContains(t, err, `"group"`, op)
	}
	locktest.Unlock(t, group)
	locktest.Unlock(t, locktest.Take(t, l.Write()))
}

func TestBadNamesAndOptionsAreTheErrorOfEachOperation(t *testing.T) {
	t.Parallel()
	c := locktest.Open(t, redistest.Shared(t).Addr())
	for _, l := range []*rwlock.Lock{c.RWLock(""), c.RWLock("x", nil)} {
		_, err := l.Read().Lock(t.Context())
		require.ErrorIs(t, err, lock.ErrInvalidArgument)
		_, err = l.Write().TryLock(t.Context())
		require.ErrorIs(t, err, lock.ErrInvalidArgument)
		_, err = l.Readers(t.Context())
		require.ErrorIs(t, err, lock.ErrInvalidArgument)
		_, err = l.Write().ForceUnlock(t.Context())
		require.ErrorIs(t, err, lock.ErrInvalidArgument)
	}
	_, err := c.RWLock("x").Read().Lock(nil) //lint:ignore SA1012 nil is what is tested
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
}
