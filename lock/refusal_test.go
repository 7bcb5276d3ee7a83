package lock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// refusing is a server that can be made to refuse, and a client of it.
type refusing struct {
	t      *testing.T
	server *redistest.Server
	admin  rueidis.Client
	client *rueidisson.Client
}

func newRefusing(t *testing.T, opts ...rueidisson.Option) *refusing {
	t.Helper()
	server := redistest.StartUnsaving(t)
	r := &refusing{t: t, server: server, admin: server.Client(t)}
	r.do("ACL SETUSER orders on >password ~* &* +@all")
	c, err := rueidisson.New(rueidis.ClientOption{
		InitAddress: []string{server.Addr()}, Username: "orders", Password: "password", DisableCache: true, ForceSingleClient: true,
	}, append(opts, rueidisson.WithWatchdogTimeout(9*time.Second))...)
	require.NoError(t, err)
	t.Cleanup(func() { locktest.Close(c) })
	r.client = c
	return r
}

func (r *refusing) do(command string) {
	r.t.Helper()
	require.NoError(r.t, r.admin.Do(context.Background(), r.admin.B().Arbitrary(strings.Fields(command)...).Build()).Error())
}

// failToSave is what a full disk looks like from outside.
func (r *refusing) failToSave() { r.do("CONFIG SET stop-writes-on-bgsave-error yes") }

func (r *refusing) gone(name string) {
	r.t.Helper()
	redistest.Eventually(r.t, func() bool { return !exists(r.t, r.admin, name) }, redistest.Soon, 5*time.Millisecond,
		"nobody will hold it, for ten minutes")
}

// passing is what a server may refuse for a while, and how that ends.
var passing = map[string]struct {
	refuse func(r *refusing)
	allow  string
	says   string
}{
	"no disk": {(*refusing).failToSave, "CONFIG SET stop-writes-on-bgsave-error no", "MISCONF"},
	"an ACL that is being reloaded": {
		func(r *refusing) { r.do("ACL SETUSER orders -eval -evalsha") }, "ACL SETUSER orders +eval +evalsha", "NOPERM",
	},
}

// What the server refuses for now is not given up: the key would stay for as
// long as its lease, which nobody knows of any more.
func TestAnUnlockThatIsRefusedGoesOn(t *testing.T) {
	t.Parallel()
	for why, of := range passing {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			r := newRefusing(t)
			private, shared := r.client.Lock("private"), r.client.Lock("shared")
			hold := acquire(t, private, lock.WithLease(10*time.Minute))
			joinable := acquire(t, shared, lock.WithLease(10*time.Minute))
			_, err := joinable.Token(t.Context())
			require.NoError(t, err)
			of.refuse(r)
			first := make(chan error, 1)
			go func() { first <- hold.Unlock(t.Context()) }() // ends by its own bound
			for _, err := range []error{joinable.Unlock(t.Context()), <-first} {
				require.ErrorContains(t, err, of.says)
				require.ErrorIs(t, err, lock.ErrDeferred)
				require.NotErrorIs(t, err, lock.ErrOutcomeUnknown)
			}
			require.True(t, exists(t, r.admin, private.Name()) && exists(t, r.admin, shared.Name()))
			r.do(of.allow)
			r.gone(private.Name())
			r.gone(shared.Name())
		})
	}
}

func TestAnUnlockOutlastsAShortRefusal(t *testing.T) {
	t.Parallel()
	r := newRefusing(t)
	hold := acquire(t, r.client.Lock("orders"))
	r.server.ResetStats()
	r.failToSave()
	unlocked := make(chan error, 1)
	go func() { unlocked <- hold.Unlock(t.Context()) }() // ends by its own bound
	redistest.Eventually(t, func() bool { return r.server.Refusals(t, "MISCONF") > 0 }, redistest.Soon, time.Millisecond)
	r.do("CONFIG SET stop-writes-on-bgsave-error no")
	require.NoError(t, <-unlocked)
	require.False(t, exists(t, r.admin, "orders"))
}

func TestARefusedTokenLeavesThePrivateHold(t *testing.T) {
	t.Parallel()
	r := newRefusing(t, generous)
	l := r.client.Lock("orders")
	hold := acquire(t, l)
	before := ownerOf(t, l)
	r.failToSave()
	_, err := hold.Token(t.Context())
	require.ErrorContains(t, err, "MISCONF")
	require.NoError(t, hold.Err())
	r.do("CONFIG SET stop-writes-on-bgsave-error no")
	require.Equal(t, before, ownerOf(t, l))

	waiting := queue(t.Context(), l)
	require.NoError(t, hold.Unlock(t.Context()))
	handed := await(t, waiting)
	require.NoError(t, handed.err)
	next := handed.hold
	require.Equal(t, before, ownerOf(t, l), "handed over, as only a private hold is")
	_, err = next.Token(t.Context())
	require.NoError(t, err, "a refusal is no bar to the next one")
	require.NotEqual(t, before, ownerOf(t, l))
	require.NoError(t, next.Unlock(t.Context()))
	require.False(t, exists(t, r.admin, "orders"))
}

func TestAFullServerIsNamedByWhoWantsALock(t *testing.T) {
	t.Parallel()
	r := newRefusing(t)
	l := r.client.Lock("orders")
	r.do("CONFIG SET maxmemory 1")
	_, err := l.TryLock(t.Context())
	require.ErrorContains(t, err, "OOM")
	require.NotErrorIs(t, err, lock.ErrNotAcquired)
	require.NotErrorIs(t, err, lock.ErrOutcomeUnknown, "nothing was done")
	r.do("CONFIG SET maxmemory 0")
	require.NoError(t, acquire(t, l).Unlock(t.Context()))
}

// A hold is renewed, exported, extended and unlocked on a server that is full.
func TestAHoldOutlastsAFullServer(t *testing.T) {
	t.Parallel()
	r := newRefusing(t)
	l := r.client.Lock("orders")
	hold := acquire(t, l)
	r.do("CONFIG SET maxmemory 1")
	_, err := hold.Token(t.Context())
	require.NoError(t, err)
	require.NoError(t, hold.Extend(t.Context(), time.Minute))
	require.NoError(t, hold.Unlock(t.Context()))
	require.False(t, exists(t, r.admin, "orders"))
}
