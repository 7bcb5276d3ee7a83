package bench

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multilock"
	"github.com/rueidisson/rueidisson/redlock"
)

var severalRows = []row{
	{"multi lock of 4", "us/pair", goal{atMost: 1.25}, multiOfFour},
	{"lock group of 4, by the multi lock", "us/pair", goal{atMost: 1}, groupOfFour},
	{"red lock, 5 servers", "us/pair", goal{atMost: 1.25}, redOfFive(redlock.WithRestartGuard(time.Second))},
	{"red lock, 5 servers, no restart guard", "us/pair", goal{}, redOfFive(redlock.WithRestartGuard(0))},
	{"red lock, one of 5 servers silent, by none", "us/pair", goal{atMost: 1.25}, redWithASilentOne},
}

// oneBusy is one goroutine with one lock.
func oneBusy(l locker) measure {
	return microseconds((&workers{ctx: context.Background(), lockers: []locker{l}}).rate)
}

// bareTogether is the floor: the bare scripts of all names in parallel, waiting
// for all of them, first to acquire and then to release.
func bareTogether(all []*bare) locker {
	each := func(f func(*bare) error) (err error) {
		var group sync.WaitGroup
		errs := make([]error, len(all))
		for i, b := range all {
			group.Go(func() { errs[i] = f(b) })
		}
		group.Wait()
		for _, e := range errs {
			if e != nil {
				err = e
			}
		}
		return err
	}
	return func(ctx context.Context) (unlock, error) {
		if err := each(func(b *bare) error { return b.acquire(ctx) }); err != nil {
			return nil, err
		}
		return func() error { return each(func(b *bare) error { return b.release(ctx) }) }, nil
	}
}

func ofHolds(l lock.Locker) locker {
	return func(ctx context.Context) (unlock, error) {
		hold, err := l.Lock(ctx)
		if err != nil {
			return nil, err
		}
		return func() error { return hold.Unlock(ctx) }, nil
	}
}

func client(t *testing.T, addr string) *rueidisson.Client {
	t.Helper()
	c, err := rueidisson.New(connection(addr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ours{c}.close)
	return c
}

func rawClient(t *testing.T, addr string) rueidis.Client {
	t.Helper()
	c, err := rueidis.NewClient(connection(addr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func multiOfFour(t *testing.T, s *redistest.Server) sides {
	c, raw := client(t, s.Addr()), rawClient(t, s.Addr())
	var locks []lock.Locker
	var all []*bare
	for i := range 4 {
		locks = append(locks, c.Lock("multi-"+strconv.Itoa(i)))
		all = append(all, newBare(raw, "bare-"+strconv.Itoa(i)))
	}
	return sides{ours: oneBusy(ofHolds(multilock.Multi(locks...))), base: oneBusy(bareTogether(all))}
}

// groupOfFour is four values of a group beside a multi lock of four locks.
func groupOfFour(t *testing.T, s *redistest.Server) sides {
	c := client(t, s.Addr())
	var locks []lock.Locker
	for i := range 4 {
		locks = append(locks, c.Lock("multi-"+strconv.Itoa(i)))
	}
	group := c.LockGroup("group").Of("0", "1", "2", "3")
	return sides{ours: oneBusy(ofHolds(group)), base: oneBusy(ofHolds(multilock.Multi(locks...)))}
}

// redLock is a red lock on these addresses, which has been held once: the
// servers are old enough for it, and a silent one is known.
func redLock(t *testing.T, name string, addrs []string, opts ...redlock.Option) locker {
	t.Helper()
	var locks []lock.Locker
	for _, addr := range addrs {
		locks = append(locks, client(t, addr).Lock(name))
	}
	l := ofHolds(redlock.New(locks...).With(opts...))
	if err := l.pair(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	return l
}

func fiveServers(t *testing.T) (addrs []string) {
	for range 5 {
		addrs = append(addrs, redistest.Start(t).Addr())
	}
	return addrs
}

func redOfFive(guard redlock.Option) func(t *testing.T, s *redistest.Server) sides {
	return func(t *testing.T, _ *redistest.Server) sides {
		addrs := fiveServers(t)
		var all []*bare
		for _, addr := range addrs {
			all = append(all, newBare(rawClient(t, addr), "bare"))
		}
		return sides{ours: oneBusy(redLock(t, "red", addrs, guard)), base: oneBusy(bareTogether(all))}
	}
}

// redWithASilentOne compares a red lock with the same one of which a server has
// fallen silent.
func redWithASilentOne(t *testing.T, _ *redistest.Server) sides {
	addrs := fiveServers(t)
	proxy := redistest.NewProxy(t, addrs[2])
	silenced := append(append([]string{}, addrs[:2]...), proxy.Addr(), addrs[3], addrs[4])
	guard := redlock.WithRestartGuard(time.Second)
	l := redLock(t, "silent", silenced, guard)
	proxy.BlackHole()
	t.Cleanup(proxy.Restore)                                 // the client could not say goodbye
	if err := l.pair(t.Context(), time.Second); err != nil { // the first one waits for it
		t.Fatal(err)
	}
	return sides{ours: oneBusy(l), base: oneBusy(redLock(t, "red", addrs, guard))}
}
