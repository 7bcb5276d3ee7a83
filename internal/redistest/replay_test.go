package redistest

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// failing notes that a check failed, and goes on.
type failing bool

func (f *failing) Errorf(string, ...any) { *f = true }
func (f *failing) FailNow()              {}

func TestSameLockSeesWhatALateRunChanged(t *testing.T) {
	t.Parallel()
	const lease, gone = 30 * time.Second, -2 * time.Millisecond
	for name, c := range map[string]struct {
		was, is     string
		before, now time.Duration
		fails       bool
	}{
		"nothing":               {"a=1", "a=1", lease, lease - time.Second, false},
		"nothing, of a long":    {"a=1", "a=1", 10 * lease, 10*lease - time.Second, false},
		"nothing, of none":      {"", "", gone, gone, false},
		"who holds it":          {"a=1", "b=1", lease, lease, true},
		"a lease, to shorter":   {"a=1", "a=1", 10 * lease, lease, true},
		"a lease, to longer":    {"a=1", "a=1", lease, 10 * lease, true},
		"a key, where was none": {"", "", gone, lease, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var failed failing
			state, left := c.was, c.before
			same := SameLock(&failed, lease, func() string { return state }, func() time.Duration { return left })
			state, left = c.is, c.now
			same()
			require.Equal(t, c.fails, bool(failed))
		})
	}
}

func TestAnswersAreShownAsTexts(t *testing.T) {
	t.Parallel()
	OnServers(t, func(t *testing.T, raw rueidis.Client) {
		key := Named(t, raw)
		for script, want := range map[string]string{
			"return false": "nil", "return 7": "7", "return 'a'": "a", "return {1, {'b', 2}}": "1,b,2", "return ARGV[1]": "x",
		} {
			require.Equal(t, want, Eval(t, raw, script, []string{key}, "x"), script)
		}
		require.Negative(t, Left(t, raw, key))
		Eval(t, raw, "redis.call('hset', KEYS[1], 'b', '2', 'a', '1') return redis.call('pexpire', KEYS[1], 60000)", []string{key})
		require.Equal(t, []string{"a=1", "b=2"}, Fields(t, raw, key))
		require.InDelta(t, time.Minute, Left(t, raw, key), float64(time.Minute/2))
	})
}
