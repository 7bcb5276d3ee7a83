package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// families are locks of other families as they stand in Redis.
var families = map[string]struct {
	family string
	set    func(ctx context.Context, raw rueidis.Client, name string) error
}{
	"a read-write lock that somebody reads": {"rwlock", func(ctx context.Context, raw rueidis.Client, name string) error {
		return raw.Do(ctx, raw.B().Hset().Key(name).FieldValue().FieldValue("mode", "read").FieldValue(foreign, "1").Build()).Error()
	}},
	"a read-write lock that somebody writes": {"rwlock", func(ctx context.Context, raw rueidis.Client, name string) error {
		return raw.Do(ctx, raw.B().Hset().Key(name).FieldValue().FieldValue("mode", "write").FieldValue(foreign+":write", "1").Build()).Error()
	}},
	"a group of values, one of which somebody holds": {"group", func(ctx context.Context, raw rueidis.Client, name string) error {
		field := "qwvAS12pR0CgRitaypEjUw"
		fields := raw.B().Hset().Key(name).FieldValue().FieldValue(field, foreign).
			FieldValue(field+":"+foreign+":expire_time", "9999999999999").FieldValue(field+":"+foreign+":lock_count", "1")
		return raw.Do(ctx, fields.Build()).Error()
	}},
	"a free fair lock that somebody waits for": {"fair", waitFairly},
	"a fair lock that is held and waited for": {"fair", func(ctx context.Context, raw rueidis.Client, name string) error {
		_ = raw.Do(ctx, raw.B().Hset().Key(name).FieldValue().FieldValue(foreign, "1").Build()).Error()
		return waitFairly(ctx, raw, name)
	}},
}

func waitFairly(ctx context.Context, raw rueidis.Client, name string) error {
	return raw.Do(ctx, raw.B().Rpush().Key("redisson_lock_queue:{"+name+"}").Element(foreign+"1").Build()).Error()
}

// foreign is an owner of another process.
const foreign = "6f5c2ae5-5a3c-4d6e-9d36-0a4a0b2d8f11:7"

func TestALockUnderTheNameOfAnotherFamilyIsRefused(t *testing.T) {
	t.Parallel()
	for title, there := range families {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			for _, version := range redistest.Versions {
				server := redistest.Shared(t, redistest.Version(version))
				mixing(t, locktest.Open(t, server.Addr()), server.Client(t), there.family, there.set)
			}
			server := redistest.Miniredis(t)
			raw, err := rueidis.NewClient(server.ClientOption())
			require.NoError(t, err)
			t.Cleanup(raw.Close)
			c, err := rueidisson.New(server.ClientOption())
			require.NoError(t, err)
			t.Cleanup(func() { locktest.Close(c) })
			mixing(t, c, raw, there.family, there.set)
		})
	}
}

func mixing(t *testing.T, c *rueidisson.Client, raw rueidis.Client, family string, set func(context.Context, rueidis.Client, string) error) {
	t.Helper()
	l := c.Lock(redistest.Name(t))
	require.NoError(t, set(t.Context(), raw, l.Name()))
	for op, ask := range map[string]func(ctx context.Context, l *lock.Lock) error{
		"lock":     func(ctx context.Context, l *lock.Lock) error { _, err := l.Lock(ctx); return err },
		"try lock": func(ctx context.Context, l *lock.Lock) error { _, err := l.TryLock(ctx); return err },
		"try lock, waiting": func(ctx context.Context, l *lock.Lock) error {
			_, err := l.TryLock(ctx, lock.WithWait(time.Minute))
			return err
		},
		"force unlock": func(ctx context.Context, l *lock.Lock) error { _, err := l.ForceUnlock(ctx); return err },
		"inspect":      func(ctx context.Context, l *lock.Lock) error { _, err := l.Holder(ctx); return err },
	} {
		if family == "fair" && (op == "force unlock" || op == "inspect") {
			continue // the hash of a fair lock is that of a lock
		}
		err := ask(t.Context(), l)
		require.ErrorIs(t, err, lock.ErrWrongKind, op)
		require.ErrorIs(t, err, rueidisson.ErrWrongKind, op)
		require.ErrorContains(t, err, l.Name(), op)
		require.ErrorContains(t, err, `"`+family+`"`, op)
		require.NotErrorIs(t, err, lock.ErrOutcomeUnknown, op)
	}
	for _, key := range []string{l.Name(), "redisson_lock_queue:{" + l.Name() + "}"} {
		require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(key).Build()).Error())
	}
	hold, err := l.Lock(t.Context())
	require.NoError(t, err, "once the other is gone")
	require.NoError(t, hold.Unlock(t.Context()))
}

func TestAWaiterLearnsThatAnotherFamilyHasTakenTheName(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for title, there := range families {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			c := tap(t, server.Addr())
			l := c.Lock(redistest.Name(t))
			plant(t, raw, l.Name(), 0)
			waiting := start(t.Context(), l)
			awaitAsleep(t, c)
			del(t, raw, l.Name())
			require.NoError(t, there.set(t.Context(), raw, l.Name()))
			require.NoError(t, raw.Do(t.Context(), raw.B().Publish().Channel("redisson_lock__channel:{"+l.Name()+"}").Message("0").Build()).Error())
			require.ErrorIs(t, await(t, waiting).err, lock.ErrWrongKind)
		})
	}
}

// What an ended hold leaves behind is no lock of another family.
func TestALockBesideItsOwnTombstoneIsTaken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.giveBack("a")
	require.Equal(t, "nil", b.acquire("b"))
}
