package chaos

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/page"
)

// survivor is a line of a script whose removal no round finds.
type survivor struct {
	script, line string
	why          string // it is harmless, or what would find it
}

// is reports whether a mutant lacks that line.
func (s survivor) is(m mutant) bool { return s.script == m.script && s.line == m.line }

// survivors are lines that mutants have lacked, and survived. They are not drawn again.
var survivors = []survivor{
	{
		"lock/lua/acquire_fenced.lua", "return nil, text.err .. ' (' .. key .. ')'",
		"an error of a key of another type, which no round has; tests of package lock have it",
	},
	{
		"rwlock/lua/read_acquire.lua", "return redis.error_reply(redis.call('hlen', name) > 1 and 'FAMILY group' or 'FAMILY lock')",
		"a name that is a lock of another kind, which no round has; tests of package rwlock have it",
	},
	{
		"semaphore/lua/give.lua", "kind = got[1] and 'string that is no integer' or kind",
		"the text of an error, of a key of another type",
	},
	{
		"latch/lua/down.lua", "overdue = last > clock or age > ARGV[2] * 1000",
		"the server has lost the time at which the latch was armed; tests of package latch have it",
	},
	{
		"latch/lua/down.lua", "redis.call('persist', KEYS[4])",
		"count downs for parties, which no round has; tests of package latch have them",
	},
	{
		"fairlock/lua/release.lua", "local known = redis.pcall('pubsub', 'shardnumsub', channel)",
		"channels of a cluster, on which no mutants run; tests of package fairlock have them",
	},
}

// survivorRows is the table of survivors, which depends on no run.
func survivorRows() string {
	rows := table("Script", "line", "why no round finds it")
	for _, s := range survivors {
		rows += row("`"+s.script+"`", "`"+strings.ReplaceAll(s.line, "|", `\|`)+"`", s.why)
	}
	return rows
}

// TestSurvivorsAreLines: each is a line of its script, has a reason, and is on the page.
func TestSurvivorsAreLines(t *testing.T) {
	t.Parallel()
	for i, s := range survivors {
		body, is := texts(t)[s.script]
		require.True(t, is, "no script %s", s.script)
		require.True(t, slices.ContainsFunc(mutantsOf(s.script, body), s.is), "%s has no line %q", s.script, s.line)
		require.NotEmpty(t, s.why, s.script)
		require.False(t, slices.ContainsFunc(survivors[:i], func(o survivor) bool { return o.script == s.script && o.line == s.line }), "twice: %s: %s", s.script, s.line)
	}
	require.NoError(t, page.Check(reliability, "survivors", survivorRows(), "the survivors"))
}
