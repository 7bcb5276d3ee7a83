package ratelimiter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// A server that is up and cannot write decides nothing either.
func TestAServerThatCannotWriteIsFallenBackFrom(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct{ refuse, allow [][]string }{
		"out of memory": {[][]string{{"CONFIG", "SET", "maxmemory", "1"}}, [][]string{{"CONFIG", "SET", "maxmemory", "0"}}},
		"no disk": {
			[][]string{{"CONFIG", "SET", "stop-writes-on-bgsave-error", "yes"}, {"CONFIG", "SET", "dir", "/proc"}, {"BGSAVE"}},
			[][]string{{"CONFIG", "SET", "stop-writes-on-bgsave-error", "no"}},
		},
		"a replica": {[][]string{{"REPLICAOF", "127.0.0.1", "1"}}, [][]string{{"REPLICAOF", "NO", "ONE"}}},
		"too few replicas": {
			[][]string{{"CONFIG", "SET", "min-replicas-to-write", "1"}}, [][]string{{"CONFIG", "SET", "min-replicas-to-write", "0"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, redistest.Config("enable-protected-configs", "yes"), redistest.Config("save", "3600", "1000000"))
			raw := s.Client(t)
			do := func(commands [][]string) {
				for _, c := range commands {
					_ = raw.Do(t.Context(), raw.B().Arbitrary(c...).Build()).Error() // a save may be under way
				}
			}
			l := limited(t, open(t, s.Addr()), ratelimiter.PerHour(1_000_000), ratelimiter.WithFallback(roomily, ratelimiter.Closed))
			gets(t, &l.Bucket, 1)
			redistest.Eventually(t, func() bool {
				do(of.refuse)
				d, err := l.Take(t.Context(), 1)
				require.NoError(t, err, "it reaches the fallback")
				return d.Fallback
			}, soon, 20*time.Millisecond)
			do(of.allow)
			returns(t, &l.Bucket)
		})
	}
}
