package redissonlimiter_test

import (
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
)

// logText is the text of a script of the sliding log, with the parts that it includes.
func logText(t testing.TB, name string) string {
	t.Helper()
	text, err := scripts.Read(os.DirFS("."), "lua/"+name+".lua")
	require.NoError(t, err)
	return text
}

// engineOn returns an engine on a client that somebody else closes.
var engineOn = enginetest.On

// rig is a limiter and a look at its keys. Its clock, if it has one, stands
// until it is moved.
type rig struct {
	*redissonlimiter.Limiter
	t     testing.TB
	raw   rueidis.Client
	e     *locking.Engine
	name  string
	clock *standingClock
}

func newRig(t testing.TB) *rig { return rigOn(t, redistest.Shared(t).Client(t)) }

// rigOn is a rig by the clock of the server.
func rigOn(t testing.TB, raw rueidis.Client, change ...func(*core.Config)) *rig {
	t.Helper()
	r := &rig{t: t, raw: raw, e: engineOn(t, raw, change...), name: redistest.Name(t)}
	r.Limiter = redissonlimiter.New(r.e, r.name)
	return r
}

// standingRig is a rig by a clock that stands at a whole millisecond.
func standingRig(t testing.TB) *rig {
	t.Helper()
	raw := redistest.Shared(t).Client(t)
	r := &rig{t: t, raw: raw, name: redistest.Name(t)}
	r.clock = &standingClock{Client: raw, t: t, key: r.name + ":clock", scripts: map[string]string{}}
	r.clock.learn()
	r.clock.set(1_795_206_775_149_000)
	r.e = engineOn(t, r.clock)
	r.Limiter = redissonlimiter.New(r.e, r.name)
	return r
}

// beside is another client on the same limiter and clock.
func (r *rig) beside() *rig {
	r.t.Helper()
	other := *r
	if r.clock != nil {
		other.e = engineOn(r.t, r.clock)
	} else {
		other.e = engineOn(r.t, r.raw)
	}
	other.Limiter = redissonlimiter.New(other.e, r.name)
	return &other
}

// standingClock is a client whose scripts read the time from a key.
type standingClock struct {
	rueidis.Client
	t       testing.TB
	key     string
	now     int64             // µs
	scripts map[string]string // SHA1 -> text that reads the key
}

func (c *standingClock) learn() {
	c.t.Helper()
	files, err := filepath.Glob("lua/log_*.lua")
	require.NoError(c.t, err)
	require.NotEmpty(c.t, files)
	for _, file := range files {
		text := logText(c.t, strings.TrimSuffix(filepath.Base(file), ".lua"))
		sum := sha1.Sum([]byte(text))
		read := "(function(t) return {math.floor(t / 1000000), t % 1000000} end)(redis.call('get', '" + c.key + "'))"
		c.scripts[hex.EncodeToString(sum[:])] = strings.ReplaceAll(text, "redis.call('TIME')", read)
	}
}

func (c *standingClock) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if args := cmd.Commands(); args[0] == "EVALSHA" {
		if text, known := c.scripts[args[1]]; known {
			cmd = c.B().Arbitrary("EVAL").Args(text).Args(args[2:]...).Build()
		}
	}
	return c.Client.Do(ctx, cmd)
}

func (c *standingClock) set(us int64) {
	c.t.Helper()
	c.now = us
	cmd := c.B().Set().Key(c.key).Value(strconv.FormatInt(us, 10)).Build()
	require.NoError(c.t, c.Client.Do(context.Background(), cmd).Error())
}

func (r *rig) pass(d time.Duration) { r.t.Helper(); r.clock.set(r.clock.now + d.Microseconds()) }

// The keys, spelled here once more so that the tests do not take the library's
// word for them.
func (r *rig) valueKey() string    { return r.stem() + ":value" }
func (r *rig) logKey() string      { return r.stem() + ":permits" }
func (r *rig) ownValueKey() string { return r.valueKey() + ":" + r.e.ClientID }
func (r *rig) ownLogKey() string   { return r.logKey() + ":" + r.e.ClientID }
func (r *rig) stem() string {
	if strings.Contains(r.name, "{") {
		return r.name
	}
	return "{" + r.name + "}"
}

func (r *rig) do(args ...string) rueidis.RedisMessage {
	r.t.Helper()
	msg, err := r.raw.Do(context.Background(), r.raw.B().Arbitrary(args[0]).Keys(args[1]).Args(args[2:]...).Build()).ToMessage()
	require.NoError(r.t, err, args)
	return msg
}

func (r *rig) number(args ...string) int64 {
	r.t.Helper()
	msg := r.do(args...)
	n, err := msg.AsInt64()
	require.NoError(r.t, err, args)
	return n
}

func (r *rig) setting() map[string]string {
	r.t.Helper()
	msg := r.do("HGETALL", r.name)
	fields, err := msg.AsStrMap()
	require.NoError(r.t, err)
	return fields
}

func (r *rig) exists(key string) bool { r.t.Helper(); return r.number("EXISTS", key) == 1 }
func (r *rig) value(key string) int64 { r.t.Helper(); return r.number("GET", key) }
func (r *rig) ttl(key string) int64   { r.t.Helper(); return r.number("PTTL", key) }
func (r *rig) serverMillis() (ms int64) {
	r.t.Helper()
	clock, err := r.raw.Do(context.Background(), r.raw.B().Time().Build()).AsStrSlice()
	require.NoError(r.t, err)
	seconds, err := strconv.ParseInt(clock[0], 10, 64)
	require.NoError(r.t, err)
	micros, err := strconv.ParseInt(clock[1], 10, 64)
	require.NoError(r.t, err)
	return seconds*1000 + micros/1000
}

// logEntry is an entry of a log.
type logEntry struct {
	member  string
	at      int64 // ms
	permits int64
}

func (r *rig) entries(key string) (all []logEntry) {
	r.t.Helper()
	msg := r.do("ZRANGE", key, "0", "-1", "WITHSCORES")
	scores, err := msg.AsZScores()
	require.NoError(r.t, err)
	for _, s := range scores {
		tail := s.Member[len(s.Member)-4:]
		all = append(all, logEntry{s.Member, int64(s.Score), int64(binary.LittleEndian.Uint32([]byte(tail)))})
	}
	return all
}

// put writes an entry as a Java client would.
func (r *rig) put(key string, at, permits int64) {
	r.t.Helper()
	entry := binary.LittleEndian.AppendUint32([]byte("\x10"+rand.Text()[:16]), uint32(permits))
	r.do("ZADD", key, strconv.FormatInt(at, 10), string(entry))
}

func (r *rig) set(rate redissonlimiter.Rate, opts ...redissonlimiter.SetOption) {
	r.t.Helper()
	require.NoError(r.t, r.SetRate(context.Background(), rate, opts...))
}

func (r *rig) take(n int64) ratelimiter.Decision {
	r.t.Helper()
	d, err := r.Take(context.Background(), n)
	require.NoError(r.t, err)
	return d
}

func (r *rig) allowed(n int64) { r.t.Helper(); require.True(r.t, r.take(n).Allowed) }
func (r *rig) refused(n int64) { r.t.Helper(); require.False(r.t, r.take(n).Allowed) }

func (r *rig) available(want int64) {
	r.t.Helper()
	n, err := r.Available(context.Background())
	require.NoError(r.t, err)
	require.Equal(r.t, want, n)
}

func atMost(n int64, interval time.Duration) redissonlimiter.Rate {
	return redissonlimiter.Rate{Permits: n, Interval: interval}
}

func atMostEach(n int64, interval time.Duration) redissonlimiter.Rate {
	return redissonlimiter.Rate{Permits: n, Interval: interval, Type: ratelimiter.PerClient}
}

// soon bounds what has to happen, on a machine however slow.
var soon = redistest.Soon
