package locking

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
)

// otherKind is the fake's lock as another kind of lock sees it.
type otherKind struct {
	*fakeServer
	kind string
}

func (o otherKind) Key() core.Key { return core.Key{Kind: o.kind, Name: o.fakeServer.Key().Name} }

// askedBy takes the lock for another kind, and gives it back.
func (s *fakeServer) askedBy(kind string) error {
	seat := new(seated)
	held, err := s.e.Acquire(context.Background(), otherKind{s, kind}, Ask{Bounded: true}, seat)
	if err == nil {
		err = held.Release(context.Background(), seat)
	}
	return err
}

func TestALockOfAnotherFamilyIsRefusedWhileOneIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		held := s.take(t)
		for _, kind := range []string{"fair", "rwlock"} {
			err := s.askedBy(kind)
			require.ErrorIs(t, err, core.ErrWrongKind)
			require.ErrorContains(t, err, `"lock"`, "it names the one that is there")
		}
		require.ErrorIs(t, s.askedBy("fenced"), core.ErrNotAcquired, "one of the same family waits its turn")
		require.Len(t, s.asked, 1, "nobody was asked")

		require.NoError(t, held.Release(t.Context()))
		require.NoError(t, s.askedBy("fair"), "the name is free for every family")
		require.NoError(t, s.askedBy("rwlock"))
	})
}

func TestALockOfAnotherFamilyIsRefusedWhileOneIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.occupy(0) // by another process
		ctx, cancel := context.WithCancel(t.Context())
		waiting := s.acquire(ctx, Ask{})
		synctest.Wait()
		require.ErrorIs(t, s.askedBy("fair"), core.ErrWrongKind)
		cancel()
		require.ErrorIs(t, (<-waiting).err, context.Canceled)
		s.vacate()
		require.NoError(t, s.askedBy("fair"))
	})
}

func TestAHoldThatIsLostLeavesItsNameToEveryFamily(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		o := <-s.acquire(context.Background(), Ask{Lease: time.Second})
		require.NoError(t, o.err)
		require.ErrorIs(t, s.askedBy("fair"), core.ErrWrongKind)
		time.Sleep(2 * time.Second)
		require.ErrorIs(t, o.held.Err(), core.ErrLost)
		require.NoError(t, s.askedBy("fair"))
	})
}

// joinable is the fake with a hold of another process that may be joined.
type joinable struct{ *fakeServer }

func (j joinable) Join(_ context.Context, _, _ string, _ time.Duration) (Tried, error) {
	return Tried{Free: true, Started: j.clock()}, nil
}

func (j joinable) Unlock(context.Context, string, string, time.Duration) (bool, error) {
	return true, nil
}

func TestAHoldThatWasJoinedKeepsTheNameForItsFamily(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		seat := new(seated)
		join := func(p Joinable) (*Held, error) {
			return s.e.Join(t.Context(), p, s.e.IDs.Exported(), false, Ask{}, seat)
		}
		held, err := join(joinable{s})
		require.NoError(t, err)
		require.ErrorIs(t, s.askedBy("rwlock"), core.ErrWrongKind)
		require.NoError(t, held.Release(t.Context(), seat))
		require.NoError(t, s.askedBy("rwlock"))

		_, err = join(s) // which refuses
		require.ErrorIs(t, err, errUnused)
		other, otherSeat := otherKind{s, "fair"}, new(seated)
		fair, err := s.e.Acquire(t.Context(), other, Ask{}, otherSeat)
		require.NoError(t, err, "a join that failed keeps nothing")
		_, err = join(joinable{s})
		require.ErrorIs(t, err, core.ErrWrongKind)
		require.NoError(t, fair.Release(t.Context(), otherSeat))
		require.Zero(t, s.e.locals.Len())
	})
}

func TestEveryKindIsOfAFamily(t *testing.T) {
	t.Parallel()
	for kind, family := range map[string]string{
		"lock": "lock", "fenced": "lock", "fair": "fair", "rwlock": "rwlock", "read": "rwlock", "write": "rwlock", "permit": "permit",
	} {
		require.Equal(t, family, core.Family(kind))
	}
}
