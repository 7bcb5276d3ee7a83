package redistest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// LateRuns runs each case on a bench of its own: the first function is the first run of a script, and what happens then.
// The second one is a late run of the script, as a send that was under way for all the while would be. Look is called
// before it, and returns what checks after it that nothing has changed.
func LateRuns[B any](t *testing.T, start func(t *testing.T) B, look func(t *testing.T, b B) (same func()), cases map[string][2]func(b B)) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			c[0](b)
			same := look(t, b)
			c[1](b)
			same()
		})
	}
}

// SameLock looks at the state of a lock, and at its lease, which is of that length if nobody extends it.
func SameLock(t require.TestingT, lease time.Duration, state func() string, left func() time.Duration) (same func()) {
	before, was := state(), left()
	return func() {
		require.Equal(t, before, state())
		switch now := left(); {
		case was > lease+time.Second:
			require.Greater(t, now, lease, "the late run shortened a lease")
		case was > 0:
			require.LessOrEqual(t, now, lease, "the late run lengthened a lease that is not its own")
		default:
			require.Negative(t, now, "the late run made the lock anew")
		}
	}
}

// Eval returns what a script answers, as [Show] words it.
func Eval(t require.TestingT, raw rueidis.Client, script string, keys []string, args ...string) string {
	return Show(t, raw.Do(context.Background(), raw.B().Eval().Script(script).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()))
}

// Show returns an answer as a text: "nil", a number, or the parts of an array with commas between them.
func Show(t require.TestingT, res rueidis.RedisResult) string {
	if rueidis.IsRedisNil(res.Error()) {
		return "nil"
	}
	msg, err := res.ToMessage()
	require.NoError(t, err)
	return show(msg)
}

func show(msg rueidis.RedisMessage) string {
	if each, err := msg.ToArray(); err == nil {
		parts := make([]string, len(each))
		for i, one := range each {
			parts[i] = show(one)
		}
		return strings.Join(parts, ",")
	}
	if n, err := msg.AsInt64(); err == nil {
		return strconv.FormatInt(n, 10)
	}
	text, _ := msg.ToString()
	return text
}

// Fields returns the fields of a hash as "name=value", in the order of the names.
func Fields(t require.TestingT, raw rueidis.Client, key string) (all []string) {
	fields, err := raw.Do(context.Background(), raw.B().Hgetall().Key(key).Build()).AsStrMap()
	require.NoError(t, err)
	for name, value := range fields {
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all
}

// Left returns the time to live of a key, which is negative if there is none.
func Left(t require.TestingT, raw rueidis.Client, key string) time.Duration {
	ms, err := raw.Do(context.Background(), raw.B().Pttl().Key(key).Build()).AsInt64()
	require.NoError(t, err)
	return time.Duration(ms) * time.Millisecond
}
