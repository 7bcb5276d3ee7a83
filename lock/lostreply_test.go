package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// faulty is a client behind a proxy that loses replies, and a lock of it. Its
// sends time out after 1.5 s.
type faulty struct {
	t      *testing.T
	server *redistest.Server
	proxy  *redistest.Proxy
	client *rueidisson.Client
	lock   *lock.Lock
	raw    rueidis.Client
}

func newFaulty(t *testing.T, opts ...rueidisson.Option) *faulty {
	t.Helper()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	opts = append([]rueidisson.Option{rueidisson.WithWatchdogTimeout(18 * time.Second)}, opts...)
	client := locktest.Open(t, proxy.Addr(), opts...)
	return &faulty{t, server, proxy, client, client.Lock(redistest.Name(t)), server.Client(t)}
}

func (f *faulty) script(name string) redistest.Match {
	key := f.lock.Name()
	if name == "bury" {
		key = keys.Tombstones(key)
	}
	return redistest.All(redistest.MatchScript(body(f.t, name)), redistest.Arg(key))
}

func (f *faulty) holder() lock.Holder {
	f.t.Helper()
	h, err := f.lock.Holder(context.Background())
	require.NoError(f.t, err)
	return h
}

func (f *faulty) take() *lock.Hold {
	f.t.Helper()
	hold, err := f.lock.Lock(f.t.Context())
	require.NoError(f.t, err)
	return hold
}

// bothWays runs a test with a connection that is cut where the reply was, and
// with one that stays open and silent.
func bothWays(t *testing.T, test func(t *testing.T, f *faulty, how ...redistest.DropOption)) {
	t.Parallel()
	t.Run("cut", func(t *testing.T) { t.Parallel(); test(t, newFaulty(t)) })
	t.Run("silent", func(t *testing.T) { t.Parallel(); test(t, newFaulty(t), redistest.Silent()) })
}

func TestALostReplyToAcquireLeavesOneLevel(t *testing.T) {
	bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
		drop := f.proxy.DropReply(f.script("acquire"), 1, how...)
		hold := f.take()
		drop.Await(t)
		require.Equal(t, 1, f.holder().Count)
		require.NoError(t, hold.Unlock(t.Context()))
		require.False(t, f.holder().Held())
	})
}

func TestALostReplyToReleaseIsNoLoss(t *testing.T) {
	bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
		hold := f.take()
		drop := f.proxy.DropReply(f.script("release"), 1, how...)
		require.NoError(t, hold.Unlock(t.Context()))
		drop.Await(t)
		require.False(t, f.holder().Held())
	})
}

func TestALostReplyToGiveBackIsNoLoss(t *testing.T) {
	bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
		lostAcquire := f.proxy.DropReply(f.script("acquire"), 1, how...)
		hold := f.take()
		lostAcquire.Await(t)
		drop := f.proxy.DropReply(f.script("bury"), 1, how...)
		require.NoError(t, hold.Unlock(t.Context()))
		drop.Await(t)
		require.False(t, f.holder().Held())
	})
}

func TestALostReplyToRenewalKeepsTheHold(t *testing.T) {
	bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
		hold := f.take()
		drop := f.proxy.DropReply(f.script("renew"), 1, how...)
		drop.Await(t)
		f.proxy.AwaitCount(t, f.script("renew"), 4) // the lost one, its retry, and two periods more
		require.NoError(t, hold.Err())
		require.NoError(t, hold.Unlock(t.Context()))
	})
}

func TestALostReplyToExtendLengthensTheLease(t *testing.T) {
	bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
		hold, err := f.lock.Lock(t.Context(), lock.WithLease(5*time.Second))
		require.NoError(t, err)
		drop := f.proxy.DropReply(f.script("renew"), 1, how...)
		require.NoError(t, hold.Extend(t.Context(), time.Minute))
		drop.Await(t)
		require.Greater(t, time.Until(hold.Deadline()), 30*time.Second)
		require.NoError(t, hold.Unlock(t.Context()))
	})
}

func TestALostReplyToTokenLeavesAHoldThatCanBeJoined(t *testing.T) {
	bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
		hold := f.take()
		drop := f.proxy.DropReply(f.script("export"), 1, how...)
		token, err := hold.Token(t.Context())
		require.NoError(t, err)
		drop.Await(t)
		require.Equal(t, token.String(), f.holder().Owner)
		joined, err := f.lock.Join(t.Context(), token)
		require.NoError(t, err)
		require.NoError(t, hold.Unlock(t.Context()))
		require.Equal(t, 1, f.holder().Count)
		require.NoError(t, joined.Unlock(t.Context()))
		require.False(t, f.holder().Held())
	})
}

func TestALostReplyToJoinCountsOneLevel(t *testing.T) {
	bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
		hold := f.take()
		token, err := hold.Token(t.Context())
		require.NoError(t, err)
		drop := f.proxy.DropReply(f.script("join"), 1, how...)
		joined, err := f.lock.Join(t.Context(), token)
		require.NoError(t, err)
		drop.Await(t)
		require.Equal(t, 2, f.holder().Count)
		require.NoError(t, joined.Unlock(t.Context()))
		require.NoError(t, hold.Unlock(t.Context()))
		require.False(t, f.holder().Held())
	})
}

func TestALostReplyToUnlockGivesOneLevelBack(t *testing.T) {
	bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
		hold := f.take()
		token, err := hold.Token(t.Context())
		require.NoError(t, err)
		joined, err := f.lock.Join(t.Context(), token)
		require.NoError(t, err)
		drop := f.proxy.DropReply(f.script("unlock"), 1, how...)
		require.NoError(t, joined.Unlock(t.Context()))
		drop.Await(t)
		f.proxy.CutAll() // else a connection that fell silent is one lost reply of the next unlock
		require.Equal(t, 1, f.holder().Count)
		drop = f.proxy.DropReply(f.script("unlock"), 1, how...)
		require.NoError(t, hold.Unlock(t.Context()))
		drop.Await(t)
		require.False(t, f.holder().Held())
	})
}

func TestALostReplyToForceUnlockIsUnknownAndNotRepeated(t *testing.T) {
	bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
		f.take()
		_, err := f.lock.ForceUnlock(t.Context()) // the server knows the script now
		require.NoError(t, err)
		f.proxy.ResetLog()
		f.proxy.DropReply(f.script("force"), 1, how...)
		_, err = f.lock.ForceUnlock(t.Context())
		require.ErrorIs(t, err, lock.ErrOutcomeUnknown)
		require.Equal(t, 1, f.proxy.Count(f.script("force")))
	})
}

func TestALostReplyToInspectIsAskedAgain(t *testing.T) {
	bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
		hold := f.take()
		f.proxy.DropReply(f.script("inspect"), 1, how...)
		require.True(t, f.holder().Held())
		require.NoError(t, hold.Unlock(t.Context()))
	})
}

func TestAnAcquireThatArrivesAfterItsUnlockTakesNothing(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	late := f.proxy.HoldRequest(f.script("acquire"))
	hold := f.take() // by a second send, on another connection
	late.Await(t)
	require.NoError(t, hold.Unlock(t.Context()))
	require.False(t, f.holder().Held())
	late.Release()
	require.False(t, f.holder().Held(), "the late acquire took the lock for nobody")
}

func TestAReleaseThatArrivesLateDoesNotFreeAnothersHold(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	hold := f.take()
	late := f.proxy.HoldRequest(f.script("release"))
	require.NoError(t, hold.Unlock(t.Context()))
	late.Await(t)
	next := f.take()
	owner := f.holder().Owner
	late.Release()
	require.Equal(t, owner, f.holder().Owner)
	require.NoError(t, next.Unlock(t.Context()))
}

func TestAnUnlockThatArrivesLateTakesNobodysLevel(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	hold := f.take()
	token, err := hold.Token(t.Context())
	require.NoError(t, err)
	joined, err := f.lock.Join(t.Context(), token)
	require.NoError(t, err)
	late := f.proxy.HoldRequest(f.script("unlock"))
	require.NoError(t, joined.Unlock(t.Context()))
	late.Await(t)
	late.Release()
	require.Equal(t, 1, f.holder().Count)
	require.NoError(t, hold.Unlock(t.Context()))
}

// An unlock that was said again by a cleanup task was sent more than once, so a
// first send of it may still arrive: the server has to know it then.
func TestAnUnlockThatArrivesAfterItsErrandTakesNobodysLevel(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	owner := locktest.Open(t, f.server.Addr()).Lock(f.lock.Name())
	hold, err := owner.Lock(t.Context())
	require.NoError(t, err)
	token, err := hold.Token(t.Context())
	require.NoError(t, err)
	joined, err := f.lock.Join(t.Context(), token)
	require.NoError(t, err)
	known, err := f.lock.Join(t.Context(), token)
	require.NoError(t, err)
	require.NoError(t, known.Unlock(t.Context())) // the server knows the script now
	f.proxy.ResetLog()
	late := f.proxy.HoldRequest(f.script("unlock"))
	f.proxy.DropReply(f.script("unlock"), 3)
	require.ErrorIs(t, joined.Unlock(t.Context()), lock.ErrOutcomeUnknown)
	late.Await(t)
	require.Eventually(t, func() bool { return f.proxy.Count(f.script("unlock")) == 5 }, redistest.Soon, time.Millisecond)
	require.Equal(t, 1, f.holder().Count)
	require.Equal(t, 1, f.holder().Count) // what followed the cleanup task has been sent
	late.Release()
	left, err := owner.Holder(context.Background())
	require.NoError(t, err)
	require.Equal(t, 1, left.Count)
	require.NoError(t, hold.Unlock(t.Context()))
}

func TestAJoinThatWasGivenUpLeavesNoLevel(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, rueidisson.WithWatchdogTimeout(20*time.Second))
	owner := locktest.Open(t, f.server.Addr()).Lock(f.lock.Name())
	hold, err := owner.Lock(t.Context())
	require.NoError(t, err)
	token, err := hold.Token(t.Context())
	require.NoError(t, err)

	drop := f.proxy.DropReply(f.script("join"), 1, redistest.Silent())
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = f.lock.Join(ctx, token)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	drop.Await(t) // the server did count it
	require.Eventually(t, func() bool { return f.holder().Count == 1 }, redistest.Soon, 20*time.Millisecond)
	require.NoError(t, hold.Unlock(t.Context()))
	require.False(t, f.holder().Held())
}

func TestAHoldCanBeUnlockedInAnyOrderByThoseWhoShareIt(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	here, there := locktest.Open(t, server.Addr()).Lock(name), locktest.Open(t, server.Addr()).Lock(name)
	hold, err := here.Lock(t.Context())
	require.NoError(t, err)
	private := holderOf(t, here)
	_, err = lock.ParseToken(private)
	require.ErrorIs(t, err, lock.ErrToken, "a private owner")

	token, err := hold.Token(t.Context())
	require.NoError(t, err)
	again, err := hold.Token(t.Context())
	require.NoError(t, err)
	require.Equal(t, token, again)
	require.Equal(t, token.String(), holderOf(t, there))

	parsed, err := lock.ParseToken(token.String())
	require.NoError(t, err)
	joined, err := there.Join(t.Context(), parsed)
	require.NoError(t, err)
	require.NoError(t, hold.Unlock(t.Context()), "the first holder leaves first")
	require.NoError(t, joined.Err())
	_, err = here.TryLock(t.Context())
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	require.NoError(t, joined.Unlock(t.Context()))
	_, err = there.Join(t.Context(), token)
	require.ErrorIs(t, err, lock.ErrLost, "the hold has ended")
}

func TestAJavaOwnersTextCanBeJoined(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw, name := server.Client(t), redistest.Name(t)
	const java = "285475da-9152-4c83-822a-67ee2f116a79:57"
	require.NoError(t, raw.Do(t.Context(), raw.B().Hset().Key(name).FieldValue().FieldValue(java, "1").Build()).Error())
	require.NoError(t, raw.Do(t.Context(), raw.B().Pexpire().Key(name).Milliseconds(20_000).Build()).Error())
	l := locktest.Open(t, server.Addr()).Lock(name)
	token, err := lock.ParseToken(java)
	require.NoError(t, err)
	hold, err := l.Join(t.Context(), token)
	require.NoError(t, err)
	holder, err := l.Holder(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, holder.Count)
	require.NoError(t, hold.Unlock(t.Context()))
	holder, err = l.Holder(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, holder.Count)
}

func holderOf(t *testing.T, l *lock.Lock) string {
	t.Helper()
	h, err := l.Holder(t.Context())
	require.NoError(t, err)
	return h.Owner
}
