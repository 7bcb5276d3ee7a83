package scan

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// on runs do with a scanner of a server, and returns what it says on standard error.
func on(t *testing.T, addr string, most int64, do func(s *Scanner)) string {
	t.Helper()
	var said bytes.Buffer
	s := &Scanner{Tool: &tool.Tool{Stderr: &said}, most: most}
	s.ReachEmbedded("redis://" + addr)
	require.NoError(t, s.WithRedis(func(*rueidisson.Client) error {
		do(s)
		return nil
	}))
	return said.String()
}

// fill makes strings whose value is their key.
func fill(t *testing.T, raw rueidis.Client, keys ...string) {
	t.Helper()
	cmds := make(rueidis.Commands, len(keys))
	for i, key := range keys {
		cmds[i] = raw.B().Set().Key(key).Value(key).Build()
	}
	for some := range slices.Chunk(cmds, 1000) {
		for _, got := range raw.DoMulti(t.Context(), some...) {
			require.NoError(t, got.Error())
		}
	}
}

func named(begin string, n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("%s%d", begin, i))
	}
	return keys
}

// TestScannerLosesNoKeyThatMoves moves a slot in the middle, from the server that is not scanned yet to one that was, or the other way.
func TestScannerLosesNoKeyThatMoves(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	raw := cluster.Client(t)
	fill(t, raw, named("plain:", 3000)...)
	tagged := named("tag:{moves}:", 4)
	fill(t, raw, tagged...)
	for _, at := range []int{1, 1000, 1500, 2000, 2500, 3000} {
		found, moved := map[string]string{}, false
		said := on(t, cluster.Addrs()[0], 1_000_000, func(s *Scanner) {
			require.NoError(t, s.Strings(t.Context(), "*", func(_ int64, texts map[string]string) {
				for key, text := range texts {
					found[key] = text
				}
				if len(found) >= at && !moved {
					moved = true
					migration := cluster.StartMigration(t, tagged[0])
					migration.Move(t, tagged...)
					migration.Finish(t)
				}
			}))
		})
		require.True(t, moved)
		require.Empty(t, said)
		require.Len(t, found, 3004, at)
		for key, text := range found {
			require.Equal(t, key, text)
		}
	}
	t.Run("a slot that is half moved is read where its keys are", func(t *testing.T) {
		migration := cluster.StartMigration(t, tagged[0])
		migration.Move(t, tagged[0], tagged[1])
		on(t, cluster.Addrs()[0], 1_000_000, func(s *Scanner) {
			found := map[string]string{}
			require.NoError(t, s.Strings(t.Context(), "tag:*", func(_ int64, texts map[string]string) {
				for key, text := range texts {
					found[key] = text
				}
			}))
			for _, key := range tagged {
				require.Equal(t, key, found[key])
			}
		})
		migration.Move(t, tagged[2:]...)
		migration.Finish(t)
	})
	t.Run("the bound is shared by the masters", func(t *testing.T) {
		said := on(t, cluster.Addrs()[0], 300, func(s *Scanner) {
			var keys []string
			for range 2 {
				require.NoError(t, s.Keys(t.Context(), "*", "string", func(some []string) error {
					keys = append(keys, some...)
					return nil
				}))
			}
			by := map[string]int{}
			for _, key := range keys {
				by[cluster.Master(key).Addr()]++
			}
			require.Len(t, by, 3)
			for addr, n := range by {
				assert.InDelta(t, 200, n, 40, addr)
			}
		})
		require.Equal(t, "there are more keys than the 300 that were looked at: --scan N looks at more\n", said, "once")
	})
}

// TestScannerReportsWhatItMayNotRead does not take it for what has ended.
func TestScannerReportsWhatItMayNotRead(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	fill(t, raw, "a", "b")
	redistest.Do(t, raw, "ACL", "SETUSER", "scans", "on", ">word", "~*", "+@all", "-getrange")
	on(t, "scans:word@"+server.Addr(), 10, func(s *Scanner) {
		err := s.Strings(t.Context(), "*", func(int64, map[string]string) { t.Error("nothing was read") })
		require.ErrorContains(t, err, "NOPERM")
		require.ErrorIs(t, s.Keys(t.Context(), "*", "string", func([]string) error { return assert.AnError }), assert.AnError)
	})
}

// TestScannerReadsAgainWhatIsRefusedForAWhile: a page that was scanned is not lost, nor the walk.
func TestScannerReadsAgainWhatIsRefusedForAWhile(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	fill(t, server.Client(t), "a", "b")
	for _, command := range []string{"GETRANGE", "TIME"} {
		proxy := redistest.NewProxy(t, server.Addr())
		on(t, proxy.Addr(), 10, func(s *Scanner) {
			loading := proxy.Answer(redistest.Command(command), "LOADING Redis is loading the dataset in memory")
			go func() { // ends with the first refusal
				redistest.InTime(func() bool { return loading.Calls() > 0 }, redistest.Soon, time.Millisecond)
				loading.Cancel()
			}()
			found := map[string]string{}
			require.NoError(t, s.Strings(t.Context(), "*", func(_ int64, texts map[string]string) { maps.Copy(found, texts) }), command)
			require.Equal(t, map[string]string{"a": "a", "b": "b"}, found)
			require.Positive(t, loading.Calls())
		})
	}
}
