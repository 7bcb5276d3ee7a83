package locking

import (
	"context"
	"embed"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

//go:embed testdata/*.lua
var testLua embed.FS

// renewedKeys lengthens keys that are named after their owners. It is a kind of
// its own: no lock stands behind it.
var renewedKeys = &lease.Renewal{
	Script: scripts.Must(testLua, "testdata/keep.lua"),
	Add: func(keys, args []string, key core.Key, owner string, lease time.Duration) (k, a []string) {
		return append(keys, pass(key, owner)), append(args, strconv.FormatInt(core.Millis(lease), 10))
	},
}

func pass(key core.Key, owner string) string { return "{" + key.Name + "}:" + owner }

// passes is a kind of grant: a key for each owner, and any number of owners.
type passes struct {
	t    *testing.T
	e    *Engine
	name string
}

func (p *passes) Key() core.Key           { return core.Key{Kind: "pass", Name: p.name} }
func (p *passes) Renewal() *lease.Renewal { return renewedKeys }
func (p *passes) GiveBack(ctx context.Context, owner string) (lease.Released, error) {
	n, err := p.e.Redis.Do(ctx, p.e.Redis.B().Del().Key(pass(p.Key(), owner)).Build()).AsInt64()
	return lease.Released{Held: n == 1}, err
}

// take makes an owner and its grant.
func (p *passes) take(lease, every time.Duration, end time.Duration) (*lease.Grant, *ending) {
	p.t.Helper()
	owner, seat, started := p.e.IDs.Private(), newEnding(), p.e.Now()
	set := p.e.Redis.B().Set().Key(pass(p.Key(), owner)).Value("1").Px(lease).Build()
	require.NoError(p.t, p.e.Redis.Do(p.t.Context(), set).Error())
	var until watchdog.Instant
	if end > 0 {
		until = started.Add(end)
	}
	return p.e.NewGrant(p, owner, started, lease, every, until, seat), seat
}

func (p *passes) left(owner string) time.Duration {
	p.t.Helper()
	ms, err := p.e.Redis.Do(p.t.Context(), p.e.Redis.B().Pttl().Key(pass(p.Key(), owner)).Build()).AsInt64()
	require.NoError(p.t, err)
	return time.Duration(ms) * time.Millisecond
}

// ending is a seat that one can wait for.
type ending struct {
	once  sync.Once
	ended chan struct{}
	cause error
}

func newEnding() *ending { return &ending{ended: make(chan struct{})} }

func (s *ending) Ended(cause error) {
	s.once.Do(func() {
		s.cause = cause
		close(s.ended)
	})
}

func (s *ending) await(t *testing.T) error {
	t.Helper()
	select {
	case <-s.ended:
		return s.cause
	case <-time.After(30 * time.Second):
		require.FailNow(t, "the seat was not told")
		return nil
	}
}

// watching is an engine on a real server, and what its observer saw of the
// renewals.
func watching(t *testing.T, timeout time.Duration) (*Engine, *renewals) {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redistest.Shared(t).Addr()}, DisableCache: true})
	require.NoError(t, err)
	seen := &renewals{news: make(chan struct{}, 1)}
	e, err := New(t.Context(), c, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: timeout, Owned: true, Observer: seen})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = Close(ctx, e)
	})
	return e, seen
}

// renewals is an observer of them alone.
type renewals struct {
	core.Observer
	mu    sync.Mutex
	holds []int
	lost  []string
	news  chan struct{}
}

func (r *renewals) Renewed(holds int, _ time.Duration, err error) {
	if err != nil {
		return
	}
	r.mu.Lock()
	r.holds = append(r.holds, holds)
	r.mu.Unlock()
	select {
	case r.news <- struct{}{}:
	default:
	}
}

func (r *renewals) Lost(kind, name string, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = append(r.lost, kind+" "+name)
}

func (r *renewals) ScriptRan(context.Context, string, time.Duration, int, error) {}
func (r *renewals) Acquired(context.Context, string, string, bool)               {}
func (r *renewals) Released(context.Context, string, string, bool)               {}

// await returns when so many holds were renewed.
func (r *renewals) await(t *testing.T, n int) {
	t.Helper()
	for r.count() < n {
		select {
		case <-r.news:
		case <-time.After(30 * time.Second):
			require.FailNow(t, "no renewals")
		}
	}
}

func (r *renewals) count() (sum int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.holds {
		sum += n
	}
	return sum
}

func TestAGrantThatIsNoLockIsRenewedUntilItIsFinished(t *testing.T) {
	t.Parallel()
	const whole, every = 20 * time.Second, 50 * time.Millisecond
	e, seen := watching(t, whole)
	p := &passes{t, e, redistest.Name(t)}
	grants := make([]*lease.Grant, 250) // several scripts of one pipeline
	for i := range grants {
		grants[i], _ = p.take(whole, every, 0)
	}
	seen.await(t, 5*len(grants))
	for _, g := range grants {
		require.NoError(t, g.Err())
		require.Positive(t, p.left(g.Owner()))
		require.True(t, g.Finish(core.ErrReleased))
		require.False(t, g.Finish(core.ErrReleased))
		require.ErrorIs(t, g.Err(), core.ErrReleased)
		g.GiveBackLater()
	}
	require.NoError(t, Close(t.Context(), e), "nothing is in care, and the cleanup tasks are done")
	e.EachLease(func(*watchdog.Lease) { t.Error("a lease is in care") })
}

func TestKindsOfOneNameAreRenewedEachInItsOwnWay(t *testing.T) {
	t.Parallel()
	const lease, every = 20 * time.Second, 50 * time.Millisecond
	e, seen := watching(t, lease)
	p := &passes{t, e, redistest.Name(t)}
	lock := &hashes{passes: *p}
	pass, _ := p.take(lease, every, 0)
	held, _ := lock.take(lease, every)
	seen.await(t, 10)
	require.NoError(t, pass.Err())
	require.NoError(t, held.Err())
	require.True(t, pass.Finish(core.ErrReleased))
	require.True(t, held.Finish(core.ErrReleased))
	_, err := lock.GiveBack(t.Context(), held.Owner())
	require.NoError(t, err)
}

// hashes is what the plain locks look like, as a grant.
type hashes struct{ passes }

func (p *hashes) Key() core.Key           { return core.Key{Kind: "hash", Name: p.name} }
func (p *hashes) Renewal() *lease.Renewal { return lease.LockRenewal }

func (p *hashes) GiveBack(ctx context.Context, _ string) (lease.Released, error) {
	return lease.Released{}, p.e.Redis.Do(ctx, p.e.Redis.B().Del().Key(p.name).Build()).Error()
}

func (p *hashes) take(lease, every time.Duration) (*lease.Grant, *ending) {
	p.t.Helper()
	owner, seat, started := p.e.IDs.Private(), newEnding(), p.e.Now()
	c := p.e.Redis
	require.NoError(p.t, c.Do(p.t.Context(), c.B().Hset().Key(p.name).FieldValue().FieldValue(owner, "1").Build()).Error())
	require.NoError(p.t, c.Do(p.t.Context(), c.B().Pexpire().Key(p.name).Milliseconds(core.Millis(lease)).Build()).Error())
	return p.e.NewGrant(p, owner, started, lease, every, watchdog.Instant{}, seat), seat
}

func TestASeatIsToldThatItsGrantIsGone(t *testing.T) {
	t.Parallel()
	const lease, every = 20 * time.Second, 50 * time.Millisecond
	e, seen := watching(t, lease)
	p := &passes{t, e, redistest.Name(t)}
	gone, told := p.take(lease, every, 0)
	stays, _ := p.take(lease, every, 0)
	_, err := p.GiveBack(t.Context(), gone.Owner())
	require.NoError(t, err)
	e.Hurry(p.Key())
	cause := told.await(t)
	require.ErrorIs(t, cause, core.ErrLost)
	require.ErrorIs(t, cause, watchdog.ErrGone)
	require.ErrorIs(t, gone.Err(), watchdog.ErrGone)
	require.NoError(t, stays.Err(), "its neighbour in the same script")
	require.True(t, stays.Finish(core.ErrReleased))
	require.Equal(t, []string{"pass " + p.name}, seen.lost)
}

func TestAGrantEndsAtItsHardEndOnTheServerToo(t *testing.T) {
	t.Parallel()
	const lease, every, end = 3 * time.Second, 100 * time.Millisecond, 3200 * time.Millisecond
	e, seen := watching(t, lease)
	p := &passes{t, e, redistest.Name(t)}
	g, told := p.take(lease, every, end)
	seen.await(t, 1)
	require.LessOrEqual(t, g.Deadline(), time.Now().Add(end))
	require.ErrorIs(t, told.await(t), watchdog.ErrRanOut)
	require.Less(t, p.left(g.Owner()), lease/3, "renewals asked for no more than what was left")
	require.LessOrEqual(t, seen.count(), 4, "behind the last there is nothing to renew")
}

func TestAGrantGrows(t *testing.T) {
	t.Parallel()
	const lease = time.Minute
	e, _ := watching(t, lease)
	p := &passes{t, e, redistest.Name(t)}
	kept, _ := p.take(lease, lease/3, 0)
	require.NoError(t, kept.Grow(t.Context(), time.Hour))
	require.Greater(t, p.left(kept.Owner()), 59*time.Minute)
	require.Greater(t, time.Until(kept.Deadline()), 55*time.Minute)

	short, _ := p.take(lease, lease/3, lease/2) // a lease of 60 s for 30 s
	require.Less(t, time.Until(short.Deadline()), lease/2)
	require.NoError(t, short.Grow(t.Context(), time.Hour), "whoever set the end moves it")
	require.LessOrEqual(t, p.left(short.Owner()), lease, "in steps of the lease")
	require.Greater(t, time.Until(short.Deadline()), lease/2)

	_, err := p.GiveBack(t.Context(), short.Owner())
	require.NoError(t, err)
	require.ErrorIs(t, short.Grow(t.Context(), time.Minute), core.ErrLost)
	require.True(t, kept.Finish(core.ErrReleased))
}

func TestCloseTellsGrantsAndNamesThem(t *testing.T) {
	t.Parallel()
	e, _ := watching(t, time.Minute)
	p := &passes{t, e, redistest.Name(t)}
	_, told := p.take(time.Minute, 20*time.Second, 0)
	_, second := p.take(time.Minute, 0, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Close(ctx, e)
	require.ErrorContains(t, err, strconv.Quote(p.name))
	require.ErrorIs(t, told.await(t), core.ErrClosed)
	require.ErrorIs(t, second.await(t), core.ErrClosed)
}

// A grant that is made while the client closes is told, too.
func TestAGrantOfAClosedClientIsToldAtOnce(t *testing.T) {
	t.Parallel()
	e, _ := watching(t, time.Minute)
	p := &passes{t, e, redistest.Name(t)}
	core.Shut(e.Core)
	_, told := p.take(time.Minute, 0, 0)
	assert.ErrorIs(t, told.await(t), core.ErrClosed)
}
