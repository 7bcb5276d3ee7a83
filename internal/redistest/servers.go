package redistest

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// OnEveryServer runs a test on each of the servers that are promised, at the same time. Each call of client is another
// client.
func OnEveryServer(t *testing.T, test func(t *testing.T, client func(t testing.TB) rueidis.Client)) {
	t.Helper()
	onVersions(t, func(t *testing.T, version string) {
		test(t, func(t testing.TB) rueidis.Client { return Shared(t, Version(version)).Client(t) })
	})
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(t, MiniredisClient)
	})
}

// OnServers is [OnEveryServer] for a test that needs one client.
func OnServers(t *testing.T, test func(t *testing.T, raw rueidis.Client)) {
	t.Helper()
	OnEveryServer(t, func(t *testing.T, client func(t testing.TB) rueidis.Client) { test(t, client(t)) })
}

// OnReal is [OnServers] without the server in the process, which lacks something. Of the options only [JSON] has a meaning.
func OnReal(t *testing.T, test func(t *testing.T, raw rueidis.Client), opts ...Option) {
	t.Helper()
	onVersions(t, func(t *testing.T, version string) {
		test(t, Shared(t, append(slices.Clone(opts), Version(version))...).Client(t))
	})
}

// OnStarted is [OnReal] with a server of the test's own, and any options.
func OnStarted(t *testing.T, test func(t *testing.T, server *Server), opts ...Option) {
	t.Helper()
	onVersions(t, func(t *testing.T, version string) {
		test(t, Start(t, append(slices.Clone(opts), Version(version))...))
	})
}

func onVersions(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	for _, version := range Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

// AtOnce runs a subtest for each of these at the same time, whatever -parallel says: they mostly wait.
func AtOnce[T any](t *testing.T, all map[string]T, test func(t *testing.T, of T)) {
	t.Helper()
	var running sync.WaitGroup
	for name, of := range all {
		running.Go(func() { t.Run(name, func(t *testing.T) { test(t, of) }) })
	}
	running.Wait()
}

// Together is [AtOnce] for tests that have nothing in common.
func Together(t *testing.T, tests map[string]func(t *testing.T)) {
	t.Helper()
	AtOnce(t, tests, func(t *testing.T, test func(t *testing.T)) { test(t) })
}

// OnServersTogether is [OnServers] for a test that waits for most of its time: see [Together].
func OnServersTogether(t *testing.T, test func(t *testing.T, raw rueidis.Client)) {
	t.Helper()
	if Soaking() { // it computes
		OnServers(t, test)
		return
	}
	tests := onEach(func(t *testing.T, version string) { test(t, Shared(t, Version(version)).Client(t)) })
	tests["miniredis"] = func(t *testing.T) { test(t, MiniredisClient(t)) }
	Together(t, tests)
}

// OnStartedTogether is [OnStarted] for a test that waits for most of its time: see [Together].
func OnStartedTogether(t *testing.T, test func(t *testing.T, server *Server)) {
	t.Helper()
	if Soaking() {
		OnStarted(t, test)
		return
	}
	Together(t, onEach(func(t *testing.T, version string) { test(t, Start(t, Version(version))) }))
}

func onEach(test func(t *testing.T, version string)) map[string]func(t *testing.T) {
	tests := map[string]func(t *testing.T){}
	for _, version := range Versions {
		tests[version] = func(t *testing.T) { test(t, version) }
	}
	return tests
}

// MiniredisClient returns a client of an embedded server of this test.
func MiniredisClient(t testing.TB) rueidis.Client {
	t.Helper()
	return newClient(t, Miniredis(t).ClientOption())
}

// Named is [Name] for a key that is deleted when the test ends.
func Named(t testing.TB, raw rueidis.Client) string {
	t.Helper()
	name := Name(t)
	t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(name).Build()) })
	return name
}

func newClient(t testing.TB, o rueidis.ClientOption, change ...func(*rueidis.ClientOption)) rueidis.Client {
	t.Helper()
	for _, f := range change {
		f(&o)
	}
	var c rueidis.Client
	var err error
	connected := func() bool { // or refused: a machine that stands still longer than a dial may take is asked again
		c, err = rueidis.NewClient(o)
		timeout, is := errors.AsType[net.Error](err)
		return !is || !timeout.Timeout()
	}
	if InTime(connected, Soon, time.Millisecond); err != nil {
		t.Fatalf("redistest: client of %v: %v", o.InitAddress, err)
	}
	t.Cleanup(c.Close)
	return c
}
