//go:build interop

package interop

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/semaphore"
)

var permitProofs = []proof{
	{row: "permit_semaphore/ids/go-java", test: goIDs},
	{row: "permit_semaphore/ids/java-go", test: javaIDs},
	{row: "permit_semaphore/change/go-java", test: goChangesLeasedPermits},
	{row: "permit_semaphore/change/java-go", test: javaChangesLeasedPermits},
	{row: "permit_semaphore/wake-up/go-java", test: goWakesJavaWithAPermit},
	{row: "permit_semaphore/wake-up/java-go", test: javaWakesGoWithAPermit},
	{row: "permit_semaphore/release_by_the_other/go-java", test: javaReleasesOfGo},
	{row: "permit_semaphore/release_by_the_other/java-go", test: goReleasesOfJava},
	{row: "permit_semaphore/several_at_once/go-java", test: goTakesSeveral},
	{row: "permit_semaphore/several_at_once/java-go", test: javaTakesSeveral},
	{row: "permit_semaphore/waiters_of_both/both", test: waitersForLeasedPermits, alone: true},
	{row: "permit_semaphore/clock_ahead/go-java", test: javaIsAhead},
}

// permitWaits take their time.
var permitWaits = []proof{
	{row: "permit_semaphore/end_of_a_lease/go-java", test: goLeaseOfAPermitEnds},
	{row: "permit_semaphore/end_of_a_lease/java-go", test: javaLeaseOfAPermitEnds},
	{row: "permit_semaphore/renewals/go-java", test: goRenewsPermits},
	{row: "permit_semaphore/renewals/java-go", test: javaRenewsPermits},
	{row: "permit_semaphore/killed_holder/go-java", test: goPermitHolderIsKilled},
	{row: "permit_semaphore/killed_holder/java-go", test: javaPermitHolderIsKilled},
}

var permitEssentials = []proof{
	{row: "permit_semaphore/ids/go-java", test: goIDs},
	{row: "permit_semaphore/ids/java-go", test: javaIDs},
	{row: "permit_semaphore/wake-up/go-java", test: goWakesJavaWithAPermit},
	{row: "permit_semaphore/wake-up/java-go", test: javaWakesGoWithAPermit},
}

// leased is a semaphore whose permits have leases, as both sides see it.
type leased struct {
	permits
	mine   *semaphore.PermitSemaphore
	theirs peer.PermitSemaphore
}

func (w *world) leased(t *testing.T, n int64) *leased {
	t.Helper()
	name := redistest.Name(t)
	c := w.client(t, answersMayTakeLong)
	p := &leased{
		permits: permits{world: w, t: t, ctx: within(t), mine: c.Semaphore(name)},
		mine:    c.PermitSemaphore(name), theirs: w.java.PermitSemaphore(redistest.Name(t), name),
	}
	t.Cleanup(func() { // it has no end of its own
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		w.del(ctx, t, name)
		w.del(ctx, t, timeouts(name))
	})
	did, err := p.mine.TrySetPermits(p.ctx, n)
	require.NoError(t, err)
	require.True(t, did)
	return p
}

// renewing has Go renew its permits as often as in other tests.
func (p *leased) renewing() *leased {
	p.t.Helper()
	p.mine = p.client(p.t).PermitSemaphore(p.mine.Name())
	return p
}

// timeouts is the key of the leases, spelled here once more.
func timeouts(name string) string { return "{" + name + "}:timeout" }

// free is what both sides say.
func (p *leased) free(want int64) {
	p.t.Helper()
	n, err := p.theirs.AvailablePermits(p.ctx)
	require.NoError(p.t, err)
	require.Equal(p.t, want, n, "Java")
	n, err = p.mine.Available(p.ctx)
	require.NoError(p.t, err)
	require.Equal(p.t, want, n, "Go")
}

func (p *leased) goTakes(opts ...semaphore.TryPermitOption) *semaphore.Permit {
	p.t.Helper()
	held, err := p.mine.TryAcquire(p.ctx, opts...)
	require.NoError(p.t, err)
	return held
}

func (p *leased) goIsRefused() {
	p.t.Helper()
	_, err := p.mine.TryAcquire(p.ctx)
	require.ErrorIs(p.t, err, semaphore.ErrNotAcquired)
}

// javaTakes says whether Java gets one.
func (p *leased) javaTakes(lease time.Duration, want bool) (id string) {
	p.t.Helper()
	id, err := p.theirs.TryAcquire(p.ctx, 0, lease)
	require.NoError(p.t, err)
	require.Equal(p.t, want, id != "", "%q", id)
	return id
}

// javaGives says whether the permit was held.
func (p *leased) javaGives(id string, want bool) {
	p.t.Helper()
	requireTruth(p.ctx, p.t, want, func(ctx context.Context) (bool, error) { return p.theirs.TryRelease(ctx, id) })
}

func (p *leased) goGives(held *semaphore.Permit) {
	p.t.Helper()
	require.NoError(p.t, held.Release(p.ctx))
}

func goIDs(t *testing.T, w *world) {
	p := w.leased(t, 2)
	held, other := p.goTakes(), p.goTakes(semaphore.WithLease(longLease))
	p.javaTakes(longLease, false)
	p.javaGives("00112233445566778899aabbccddeeff", false)
	p.javaGives(other.ID(), true)
	p.javaGives(other.ID(), false)
	p.free(1)
	require.ErrorIs(t, other.Release(p.ctx), semaphore.ErrLost)
	p.goGives(held)
	p.javaGives(held.ID(), false)
	p.free(2)
}

func javaIDs(t *testing.T, w *world) {
	p := w.leased(t, 2)
	endless, other := p.javaTakes(0, true), p.javaTakes(longLease, true)
	p.goIsRefused()
	found := map[string]time.Duration{}
	for one, err := range p.mine.Permits(p.ctx) {
		require.NoError(t, err)
		require.False(t, one.Own)
		found[one.ID] = one.Remaining
	}
	require.Len(t, found, 2)
	require.EqualValues(t, -1, found[endless], "it has no end")
	require.Greater(t, found[other], longLease/2)
	require.NoError(t, p.mine.ReleaseID(p.ctx, endless))
	require.ErrorIs(t, p.mine.ReleaseID(p.ctx, endless), semaphore.ErrLost)
	p.free(1)
	p.javaGives(endless, false)
	p.javaGives(other, true)
	require.ErrorIs(t, p.mine.ReleaseID(p.ctx, other), semaphore.ErrLost)
	p.free(2)
}

func goChangesLeasedPermits(t *testing.T, w *world) {
	p := w.leased(t, 2)
	id := p.javaTakes(longLease, true)
	require.NoError(t, p.mine.SetPermits(p.ctx, 4))
	p.free(3)
	require.NoError(t, p.mine.AddPermits(p.ctx, 2))
	p.free(5)
	require.NoError(t, p.mine.AddPermits(p.ctx, -5))
	p.javaTakes(longLease, false)
	require.NoError(t, p.mine.SetPermits(p.ctx, 2))
	p.free(1)
	did, err := p.mine.Delete(p.ctx)
	require.NoError(t, err)
	require.True(t, did)
	p.javaTakes(longLease, false)
	p.javaGives(id, false)
	require.False(t, w.exists(p.ctx, t, timeouts(p.mine.Name())))
}

func javaChangesLeasedPermits(t *testing.T, w *world) {
	p := w.leased(t, 2)
	held := p.goTakes()
	require.NoError(t, p.theirs.SetPermits(p.ctx, 4))
	p.free(3)
	require.NoError(t, p.theirs.AddPermits(p.ctx, 2))
	p.free(5)
	require.NoError(t, p.theirs.AddPermits(p.ctx, -5))
	p.goIsRefused()
	requireTruth(p.ctx, t, false, func(ctx context.Context) (bool, error) { return p.theirs.TrySetPermits(ctx, 7) })
	requireTruth(p.ctx, t, true, p.theirs.Delete)
	_, err := p.mine.TryAcquire(p.ctx)
	require.ErrorIs(t, err, semaphore.ErrNotSet)
	require.ErrorIs(t, held.Release(p.ctx), semaphore.ErrLost)
}

func goWakesJavaWithAPermit(t *testing.T, w *world) {
	p := w.leased(t, 1)
	held := p.goTakes(semaphore.WithLease(longLease))
	got := begin(func() (string, error) { return p.theirs.Acquire(p.ctx, longLease) })
	p.awaitListener()
	p.goGives(held)
	o := <-got
	require.NoError(t, o.err)
	require.NoError(t, p.mine.ReleaseID(p.ctx, o.value))
	p.free(1)
}

// awaitListener waits until one process listens for permits, and has tried once
// more since.
func (p *leased) awaitListener() {
	p.t.Helper()
	how := "NUMSUB"
	if p.spublish() {
		how = "SHARDNUMSUB"
	}
	eventually(p.ctx, p.t, "somebody listens to "+released(p.mine.Name()), func() (listens bool) {
		for _, node := range p.redis.Nodes() {
			listens = listens || p.subscribers(node, how) == 1
		}
		return listens
	})
	for range 2 {
		n, err := p.mine.Available(p.ctx)
		require.NoError(p.t, err)
		require.Zero(p.t, n)
	}
}

func javaWakesGoWithAPermit(t *testing.T, w *world) {
	p := w.leased(t, 1)
	id := p.javaTakes(longLease, true)
	got := begin(func() (*semaphore.Permit, error) { return p.mine.Acquire(p.ctx) })
	p.awaitListener()
	p.javaGives(id, true)
	o := <-got
	require.NoError(t, o.err)
	p.free(0)
	p.goGives(o.value)
	p.free(1)
}

// javaReleasesOfGo: the holder learns it at its next renewal.
func javaReleasesOfGo(t *testing.T, w *world) {
	p := w.leased(t, 1).renewing()
	held := p.goTakes()
	p.javaGives(held.ID(), true)
	select {
	case <-held.Lost():
	case <-p.ctx.Done():
		t.Fatal("the holder was not told")
	}
	require.ErrorIs(t, held.Err(), semaphore.ErrLost)
	require.ErrorIs(t, held.Release(p.ctx), semaphore.ErrLost)
	p.free(1)
}

func goReleasesOfJava(t *testing.T, w *world) {
	p := w.leased(t, 1)
	id := p.javaTakes(longLease, true)
	require.NoError(t, p.mine.ReleaseID(p.ctx, id))
	requireTruth(p.ctx, t, false, func(ctx context.Context) (bool, error) { return p.theirs.UpdateLeaseTime(ctx, id, longLease) })
	p.free(1)
}

func goTakesSeveral(t *testing.T, w *world) {
	p := w.leased(t, 3)
	held, err := p.mine.AcquireN(p.ctx, 2, semaphore.WithLease(longLease))
	require.NoError(t, err)
	p.free(1)
	ids, err := p.theirs.TryAcquireSome(p.ctx, 2, 0, longLease)
	require.NoError(t, err)
	require.Empty(t, ids)
	got := begin(func() ([]string, error) { return p.theirs.AcquireSome(p.ctx, 3, longLease) })
	require.NoError(t, p.mine.ReleaseN(p.ctx, held...))
	o := <-got
	require.NoError(t, o.err)
	require.Len(t, o.value, 3)
	p.free(0)
	require.NoError(t, p.theirs.ReleaseSome(p.ctx, o.value...))
	p.free(3)
	held, err = p.mine.TryAcquireN(p.ctx, 3)
	require.NoError(t, err)
	require.NoError(t, p.theirs.ReleaseSome(p.ctx, held[0].ID(), held[1].ID()))
	require.ErrorIs(t, p.mine.ReleaseN(p.ctx, held...), semaphore.ErrLost)
	p.free(3)
}

func javaTakesSeveral(t *testing.T, w *world) {
	p := w.leased(t, 3)
	ids, err := p.theirs.AcquireSome(p.ctx, 2, longLease)
	require.NoError(t, err)
	require.Len(t, ids, 2)
	p.free(1)
	_, err = p.mine.TryAcquireN(p.ctx, 2)
	require.ErrorIs(t, err, semaphore.ErrNotAcquired)
	got := begin(func() ([]*semaphore.Permit, error) { return p.mine.AcquireN(p.ctx, 3) })
	require.NoError(t, p.theirs.ReleaseSome(p.ctx, ids...))
	o := <-got
	require.NoError(t, o.err)
	p.free(0)
	require.NoError(t, p.mine.ReleaseN(p.ctx, o.value...))
	require.Error(t, p.theirs.ReleaseSome(p.ctx, ids...), "they have ended")
	ids, err = p.theirs.TryAcquireSome(p.ctx, 3, 0, longLease)
	require.NoError(t, err)
	require.Len(t, ids, 3)
	held, err := p.mine.Adopt(p.ctx, ids[0])
	require.NoError(t, err)
	p.goGives(held)
	require.NoError(t, p.theirs.ReleaseSome(p.ctx, ids[1:]...))
	p.free(3)
}

// waitersForLeasedPermits take and give permits as fast as they can: never more of
// them are out than there are.
func waitersForLeasedPermits(t *testing.T, w *world) {
	const there, each, rounds = 3, 3, 40
	p := w.leased(t, there)
	var out atomic.Int64
	inside := func() {
		require.LessOrEqual(t, out.Add(1), int64(there))
		time.Sleep(time.Millisecond)
		out.Add(-1)
	}
	require.NoError(t, together(2*each, func(i int) error {
		theirs := w.java.PermitSemaphore(redistest.Name(t), p.mine.Name())
		for range rounds {
			if i < each {
				held, err := p.mine.Acquire(p.ctx, semaphore.WithLease(longLease))
				if err != nil {
					return err
				}
				inside()
				if err := held.Release(p.ctx); err != nil {
					return err
				}
				continue
			}
			id, err := theirs.Acquire(p.ctx, longLease)
			if err != nil {
				return err
			}
			inside()
			if _, err := theirs.TryRelease(p.ctx, id); err != nil {
				return err
			}
		}
		return nil
	}))
	p.free(there)
}

// aLease is what waits end with.
const aLease = 3 * time.Second

func goLeaseOfAPermitEnds(t *testing.T, w *world) {
	p := w.leased(t, 1)
	began := time.Now()
	held := p.goTakes(semaphore.WithLease(aLease))
	got := begin(func() (string, error) { return p.theirs.Acquire(p.ctx, longLease) })
	o := <-got
	require.NoError(t, o.err)
	require.GreaterOrEqual(t, o.at.Sub(began), aLease)
	require.ErrorIs(t, held.Err(), semaphore.ErrLost, "before Java has it")
	require.ErrorIs(t, held.Release(p.ctx), semaphore.ErrLost)
	p.javaGives(o.value, true)
	p.free(1)
}

func javaLeaseOfAPermitEnds(t *testing.T, w *world) {
	p := w.leased(t, 1)
	began := time.Now()
	id := p.javaTakes(aLease, true)
	got := begin(func() (*semaphore.Permit, error) { return p.mine.Acquire(p.ctx) })
	o := <-got
	require.NoError(t, o.err)
	require.GreaterOrEqual(t, o.at.Sub(began), aLease-50*time.Millisecond, "by Java's clock, which is this machine's")
	p.javaGives(id, false)
	p.goGives(o.value)
	p.free(1)
}

// goRenewsPermits: Java waits on, past the first lease, and sees no less than what
// is left between renewals.
func goRenewsPermits(t *testing.T, w *world) {
	p := w.leased(t, 1).renewing()
	held := p.goTakes()
	id, err := p.theirs.TryAcquire(p.ctx, 2*watchdog, longLease)
	require.NoError(t, err)
	require.Empty(t, id)
	require.NoError(t, held.Err())
	left, err := p.theirs.LeaseTime(p.ctx, held.ID())
	require.NoError(t, err)
	require.Positive(t, left)
	require.LessOrEqual(t, left, watchdog+rounding)
	p.goGives(held)
	p.free(1)
}

// javaRenewsPermits: whose holders do so by themselves.
func javaRenewsPermits(t *testing.T, w *world) {
	p := w.leased(t, 1)
	id := p.javaTakes(watchdog, true)
	got := begin(func() (*semaphore.Permit, error) {
		return p.mine.TryAcquire(p.ctx, semaphore.WithWait(3*watchdog/2))
	})
	requireTruth(p.ctx, t, true, func(ctx context.Context) (bool, error) { return p.theirs.UpdateLeaseTime(ctx, id, longLease) })
	o := <-got
	require.ErrorIs(t, o.err, semaphore.ErrNotAcquired)
	p.javaGives(id, true)
	p.free(1)
}

func goPermitHolderIsKilled(t *testing.T, w *world) {
	p := w.leased(t, 1)
	child := startChild(t, "permit holder", contest{Addrs: w.addrs, Sharded: w.sharded, Lock: p.mine.Name(), Watchdog: watchdog})
	got := begin(func() (string, error) { return p.theirs.Acquire(p.ctx, longLease) })
	child.Kill()
	o := <-got
	require.NoError(t, o.err)
	p.javaGives(o.value, true)
	p.free(1)
}

// permitHolder is a Go process that holds a permit until it is killed.
func permitHolder(p *redistest.Parent) {
	inContest(p, func(ctx context.Context, c contest, client *rueidisson.Client, _ rueidis.Client) error {
		if _, err := client.PermitSemaphore(c.Lock).Acquire(ctx); err != nil {
			return err
		}
		p.Say("ready")
		p.Hear()
		return nil
	})
}

func javaPermitHolderIsKilled(t *testing.T, w *world) {
	p := w.leased(t, 1)
	java := peer.Start(t, w.jvm)
	began := time.Now()
	id, err := java.PermitSemaphore("holder", p.mine.Name()).Acquire(p.ctx, aLease)
	require.NoError(t, err)
	java.Kill()
	held, err := p.mine.Acquire(p.ctx)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(began), aLease-50*time.Millisecond)
	require.NotEqual(t, id, held.ID())
	p.goGives(held)
	p.free(1)
}
