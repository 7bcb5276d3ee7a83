package redistest

import (
	"testing"

	"github.com/redis/rueidis"
)

// OnEveryServer runs a test on each of the servers that are promised, at the same time. Each call of client is another
// client.
func OnEveryServer(t *testing.T, test func(t *testing.T, client func(t testing.TB) rueidis.Client)) {
	t.Helper()
	for _, version := range []string{"7.0", "8.0", "valkey-8.1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, func(t testing.TB) rueidis.Client { return Shared(t, Version(version)).Client(t) })
		})
	}
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(t, func(t testing.TB) rueidis.Client { return newClient(t, Miniredis(t).ClientOption()) })
	})
}

func newClient(t testing.TB, o rueidis.ClientOption) rueidis.Client {
	t.Helper()
	c, err := rueidis.NewClient(o)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	t.Cleanup(c.Close)
	return c
}
