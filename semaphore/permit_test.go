package semaphore

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// permitSuite is what every server must do.
var permitSuite = map[string]func(t *testing.T, r *permitRig){
	"takes and gives": func(t *testing.T, r *permitRig) {
		r.set(2)
		a, b := r.take(), r.take()
		r.stands(0, 2)
		r.refused()
		require.NotEqual(t, a.ID(), b.ID())
		require.NoError(t, a.Err())
		r.give(a)
		r.stands(1, 1)
		err := a.Release(t.Context())
		require.ErrorIs(t, err, ErrReleased)
		require.ErrorIs(t, a.Err(), ErrReleased)
		r.stands(1, 1)
		c := r.take()
		r.give(b)
		r.give(c)
		r.stands(2, 0)
		n, err := r.Available(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
	},
	"set, try to set, add, delete": func(t *testing.T, r *permitRig) {
		did, err := r.TrySetPermits(t.Context(), 3)
		require.NoError(t, err)
		require.True(t, did)
		did, err = r.TrySetPermits(t.Context(), 4)
		require.NoError(t, err)
		require.False(t, did)
		a := r.take()
		r.set(5)
		r.stands(4, 1)
		r.set(5)
		r.stands(4, 1)
		require.NoError(t, r.AddPermits(t.Context(), 2))
		r.stands(6, 1)
		require.NoError(t, r.AddPermits(t.Context(), -7))
		r.stands(-1, 1)
		n, err := r.Available(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		r.refused()
		r.give(a)
		r.stands(0, 0)
		r.refused()
		require.ErrorIs(t, r.AddPermits(t.Context(), most), nil)
		require.ErrorIs(t, r.AddPermits(t.Context(), 1), ErrInvalidArgument)
		r.set(2)
		b := r.take()
		require.ErrorIs(t, r.AddPermits(t.Context(), most-1), ErrInvalidArgument, "those that are held count")
		did, err = r.Delete(t.Context())
		require.NoError(t, err)
		require.True(t, did)
		did, err = r.Delete(t.Context())
		require.NoError(t, err)
		require.False(t, did)
		err = b.Release(t.Context())
		require.ErrorIs(t, err, ErrLost)
		require.ErrorIs(t, err, ErrNotSet)
	},
	"not set": func(t *testing.T, r *permitRig) {
		_, err := r.TryAcquire(t.Context())
		require.ErrorIs(t, err, ErrNotSet)
		require.ErrorIs(t, err, ErrNotAcquired)
		_, err = r.TryAcquire(t.Context(), WithWait(time.Second))
		require.ErrorIs(t, err, ErrNotSet)
		require.ErrorIs(t, err, ErrNotAcquired)
		err = r.ReleaseID(t.Context(), "00112233445566778899aabbccddeeff")
		require.ErrorIs(t, err, ErrNotSet)
		require.ErrorIs(t, err, ErrLost)
		n, err := r.Available(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		require.Empty(t, r.list())
		done := r.acquiring(t.Context())
		redistest.Waits(t, done)
		keys, err := r.Raw.Do(t.Context(), r.Raw.B().Keys().Pattern("*"+r.of.key+"*").Build()).AsStrSlice()
		require.NoError(t, err)
		require.Empty(t, keys)
		r.set(2)
		gotPermit(t, done)
	},
	"ids": func(t *testing.T, r *permitRig) {
		other := r.beside()
		r.set(3)
		mine, theirs := r.take(), other.take(WithLease(time.Hour))
		for id, one := range r.list() {
			require.Contains(t, []string{mine.ID(), theirs.ID()}, id)
			require.Equal(t, id == mine.ID(), one.Own)
			require.Greater(t, one.Remaining, 20*time.Second)
			require.LessOrEqual(t, one.Remaining, time.Hour)
		}
		require.Len(t, r.list(), 2)
		require.NoError(t, other.ReleaseID(t.Context(), mine.ID()))
		r.stands(2, 1)
		require.ErrorIs(t, other.ReleaseID(t.Context(), mine.ID()), ErrLost)
		require.ErrorIs(t, mine.Release(t.Context()), ErrLost)
		r.stands(2, 1)
		r.Ask("ZADD", r.of.leases, "922337203685477", "0123456789abcdef")
		require.EqualValues(t, -1, r.list()["30313233343536373839616263646566"].Remaining, "it has no end")
	},
	"several at once": func(t *testing.T, r *permitRig) {
		r.set(3)
		two, err := r.AcquireN(t.Context(), 2)
		require.NoError(t, err)
		require.Len(t, two, 2)
		require.NotEqual(t, two[0].ID(), two[1].ID())
		r.stands(1, 2)
		_, err = r.TryAcquireN(t.Context(), 2)
		require.ErrorIs(t, err, ErrNotAcquired)
		r.stands(1, 2)
		r.give(two[0])
		three := r.take()
		require.NoError(t, r.ReleaseN(t.Context(), two[1], three))
		r.stands(3, 0)
		err = r.ReleaseN(t.Context(), two...)
		require.ErrorIs(t, err, ErrReleased)
		require.ErrorContains(t, err, two[0].ID())
		require.ErrorContains(t, err, two[1].ID())
		r.stands(3, 0)
		all, err := r.TryAcquireN(t.Context(), 3, WithLease(time.Hour), WithLabel("all"))
		require.NoError(t, err)
		r.stands(0, 3)
		require.NoError(t, r.ReleaseID(t.Context(), all[1].ID()))
		err = r.ReleaseN(t.Context(), all...)
		require.ErrorIs(t, err, ErrLost)
		require.ErrorContains(t, err, all[1].ID())
		require.NotContains(t, err.Error(), all[0].ID(), "which goes back all the same")
		r.stands(3, 0)
		_, err = r.Delete(t.Context())
		require.NoError(t, err)
		_, err = r.TryAcquireN(t.Context(), 2)
		require.ErrorIs(t, err, ErrNotSet)
	},
	"labels": func(t *testing.T, r *permitRig) {
		r.set(3)
		a, b := r.take(WithLabel("host a")), r.take()
		c := gotPermit(t, r.acquiring(t.Context(), WithLabel("host c"), WithLease(time.Hour)))
		all := r.list()
		require.Equal(t, []string{"host a", "", "host c"}, []string{all[a.ID()].Label, all[b.ID()].Label, all[c.ID()].Label})
		r.give(a)
		r.give(b)
		require.NoError(t, r.beside().ReleaseID(t.Context(), c.ID()))
		require.Zero(t, r.labels())
		r.take(WithLabel("host d"))
		_, err := r.Delete(t.Context())
		require.NoError(t, err)
		require.Zero(t, r.labels())
	},
	"adopt and extend by id": func(t *testing.T, r *permitRig) {
		other := r.beside()
		r.set(1)
		p := r.take(WithLease(time.Minute))
		require.NoError(t, other.Extend(t.Context(), p.ID(), time.Hour))
		require.Greater(t, r.list()[p.ID()].Remaining, 50*time.Minute)
		require.NoError(t, other.Extend(t.Context(), p.ID(), time.Minute))
		require.Greater(t, r.list()[p.ID()].Remaining, 50*time.Minute, "it never shortens")
		q, err := other.Adopt(t.Context(), p.ID())
		require.NoError(t, err)
		require.Equal(t, p.ID(), q.ID())
		require.NoError(t, q.Err())
		r.stands(0, 1)
		other.give(q)
		r.stands(1, 0)
		require.ErrorIs(t, p.Release(t.Context()), ErrLost)
		_, err = other.Adopt(t.Context(), p.ID())
		require.ErrorIs(t, err, ErrLost)
		require.ErrorIs(t, other.Extend(t.Context(), p.ID(), time.Hour), ErrLost)
		r.stands(1, 0)
	},
	"a fixed lease ends": func(t *testing.T, r *permitRig) {
		r.set(1)
		p := r.take(WithLease(300 * time.Millisecond))
		work := p.Context(t.Context())
		<-work.Done()
		require.ErrorIs(t, context.Cause(work), ErrLost)
		<-p.Lost()
		require.ErrorIs(t, p.Err(), ErrLost)
		q := gotPermit(t, r.acquiring(t.Context()))
		require.ErrorIs(t, p.Release(t.Context()), ErrLost)
		require.NoError(t, q.Err())
		r.stands(0, 1)
		r.give(q)
		r.stands(1, 0)
	},
	"extend": func(t *testing.T, r *permitRig) {
		r.set(1)
		p := r.take(WithLease(time.Minute))
		require.NoError(t, p.Extend(t.Context(), time.Hour))
		require.Greater(t, r.list()[p.ID()].Remaining, 50*time.Minute)
		require.Greater(t, time.Until(p.Deadline()), 50*time.Minute)
		require.NoError(t, p.Extend(t.Context(), time.Minute))
		require.Greater(t, r.list()[p.ID()].Remaining, 50*time.Minute, "it never shortens")
		require.NoError(t, r.ReleaseID(t.Context(), p.ID()))
		require.ErrorIs(t, p.Extend(t.Context(), time.Hour), ErrLost)
	},
	"a time to live": func(t *testing.T, r *permitRig) {
		did, err := r.TrySetPermits(t.Context(), 3, WithTTL(time.Hour))
		require.NoError(t, err)
		require.True(t, did)
		a := r.take()
		for _, key := range []string{r.of.key, r.of.leases} {
			msg := r.Ask("PTTL", key)
			ttl, err := msg.AsInt64()
			require.NoError(t, err)
			assert.Greater(t, ttl, int64(3_000_000), key)
		}
		r.set(5)
		r.give(a)
		require.NoError(t, r.AddPermits(t.Context(), 1))
		r.take()
		msg := r.Ask("PTTL", r.of.key)
		ttl, err := msg.AsInt64()
		require.NoError(t, err)
		assert.Greater(t, ttl, int64(3_000_000))
		r.Ask("PERSIST", r.of.key)
		r.take()
		msg = r.Ask("PTTL", r.of.leases)
		ttl, err = msg.AsInt64()
		require.NoError(t, err)
		assert.EqualValues(t, -1, ttl, "leases follow the number")
	},
	"waiting": func(t *testing.T, r *permitRig) {
		other := r.beside()
		r.set(1)
		p := r.take()
		done := other.acquiring(t.Context())
		other.waiting(1)
		r.give(p)
		q := gotPermit(t, done)
		_, err := r.TryAcquire(t.Context(), WithWait(time.Second))
		require.ErrorIs(t, err, ErrNotAcquired)
		ctx, cancel := context.WithCancel(t.Context())
		done = r.acquiring(ctx)
		r.waiting(1)
		cancel()
		require.ErrorIs(t, (<-done).err, context.Canceled)
		other.give(q)
		r.awaitStands(1, 0)
	},
	"many": func(t *testing.T, r *permitRig) {
		r.set(3)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				for range 5 {
					p, err := r.Acquire(context.Background())
					if assert.NoError(t, err) {
						assert.NoError(t, p.Release(context.Background()))
					}
				}
			})
		}
		all.Wait()
		r.stands(3, 0)
	},
	"a key of another kind": func(t *testing.T, r *permitRig) {
		for kind, make := range map[string][]string{"hash": {"HSET", "a", "b"}, "string": {"SET", "many"}, "list": {"RPUSH", "a"}} {
			r.Ask("DEL", r.of.key)
			r.Ask(append([]string{make[0], r.of.key}, make[1:]...)...)
			r.wrongType(r.of.key, kind)
		}
		r.Ask("DEL", r.of.key)
		r.set(3)
		r.Ask("SET", r.of.leases, "x")
		r.wrongType(r.of.leases, "string")
		r.Ask("SET", r.of.key, "0")
		r.wrongType(r.of.leases, "string")
	},
}

// permitOperations is every operation, with n permits where it takes a number.
var permitOperations = map[string]func(ctx context.Context, s *PermitSemaphore, n int64) error{
	"acquire": func(ctx context.Context, s *PermitSemaphore, _ int64) error {
		p, err := s.Acquire(ctx)
		return released(p, err)
	},
	"try acquire": func(ctx context.Context, s *PermitSemaphore, _ int64) error {
		p, err := s.TryAcquire(ctx)
		return released(p, err)
	},
	"acquire some": func(ctx context.Context, s *PermitSemaphore, _ int64) error {
		all, err := s.AcquireN(ctx, 2)
		if err == nil {
			err = s.ReleaseN(context.Background(), all...)
		}
		return err
	},
	"try acquire some": func(ctx context.Context, s *PermitSemaphore, _ int64) error {
		all, err := s.TryAcquireN(ctx, 2, WithLabel("me"))
		if err == nil {
			err = s.ReleaseN(context.Background(), all...)
		}
		return err
	},
	"adopt": func(ctx context.Context, s *PermitSemaphore, _ int64) error {
		p, err := s.Adopt(ctx, "00112233445566778899aabbccddeeff")
		return released(p, err)
	},
	"extend by id": func(ctx context.Context, s *PermitSemaphore, _ int64) error {
		return s.Extend(ctx, "00112233445566778899aabbccddeeff", time.Hour)
	},
	"release by id": func(ctx context.Context, s *PermitSemaphore, _ int64) error {
		return s.ReleaseID(ctx, "00112233445566778899aabbccddeeff")
	},
	"set permits": func(ctx context.Context, s *PermitSemaphore, n int64) error { return s.SetPermits(ctx, n) },
	"try set permits": func(ctx context.Context, s *PermitSemaphore, n int64) error {
		_, err := s.TrySetPermits(ctx, n)
		return err
	},
	"add permits": func(ctx context.Context, s *PermitSemaphore, n int64) error { return s.AddPermits(ctx, n) },
	"available":   func(ctx context.Context, s *PermitSemaphore, _ int64) error { _, err := s.Available(ctx); return err },
	"delete":      func(ctx context.Context, s *PermitSemaphore, _ int64) error { _, err := s.Delete(ctx); return err },
	"permits": func(ctx context.Context, s *PermitSemaphore, _ int64) error {
		for _, err := range s.Permits(ctx) {
			if err != nil {
				return err
			}
		}
		return nil
	},
}

// byID reports whether an operation is about a permit by its id, which nobody holds.
func byID(name string) bool {
	return name == "release by id" || name == "adopt" || name == "extend by id"
}

func released(p *Permit, err error) error {
	if err == nil {
		err = p.Release(context.Background())
	}
	return err
}

// wrongType checks that whatever is asked for names the key and its type, and
// changes nothing.
func (r *permitRig) wrongType(key, kind string) {
	r.T.Helper()
	before := r.Ask("TYPE", r.of.key)
	for name, op := range permitOperations {
		lengthens := byID(name) && name != "release by id" // which finds no permit there
		if lengthens || key == r.of.leases && name == "try set permits" || key == r.of.key && name == "permits" {
			continue // which does not look at it
		}
		err := op(context.Background(), r.PermitSemaphore, 1)
		require.ErrorContains(r.T, err, "WRONGTYPE", name)
		require.ErrorContains(r.T, err, key, name)
		require.ErrorContains(r.T, err, kind, name)
	}
	after := r.Ask("TYPE", r.of.key)
	require.Equal(r.T, before.String(), after.String())
}

func TestPermitSuite(t *testing.T) {
	t.Parallel()
	redistest.OnEveryServer(t, func(t *testing.T, client func(t testing.TB) rueidis.Client) {
		for name, test := range permitSuite {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, permitRigOn(t, client(t), redistest.Name(t)))
			})
		}
	})
}
