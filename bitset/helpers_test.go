package bitset

import (
	"context"
	"encoding/hex"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// effect is what an operation that writes does to a bitset which is a5 for an hour.
type effect struct {
	do     func(ctx context.Context, s *Set) (any, error)
	sends  redistest.Match
	answer any
	left   string // see state
	moves  bool   // it does to any key what it does to a bitset
}

func script(s *scripts.Script) redistest.Match { return redistest.MatchScript(s.Body()) }

const (
	hour = time.Hour
	day  = 24 * time.Hour
)

// some makes an answer of any type of one.
func some[A any](a A, err error) (any, error) { return a, err }

// other is the name of a bitset in the slot of another one.
func other(s *Set) string { return "to:{" + s.Name() + "}" }

var effects = map[string]effect{
	"set one": {
		do: func(ctx context.Context, s *Set) (any, error) { return some(s.Set(ctx, 1)) }, sends: redistest.Command("SETBIT"),
		answer: []bool{false}, left: "e5 hour",
	},
	"set": {
		do: func(ctx context.Context, s *Set) (any, error) { return some(s.Set(ctx, 0, 1, 15)) }, sends: redistest.Command("BITFIELD"),
		answer: []bool{true, false, false}, left: "e501 hour",
	},
	"clear": {
		do: func(ctx context.Context, s *Set) (any, error) { return some(s.Clear(ctx, 0, 1, 15)) }, sends: script(writeScript),
		answer: []bool{true, false, false}, left: "25 hour",
	},
	"set range": {
		do: func(ctx context.Context, s *Set) (any, error) { return nil, s.SetRange(ctx, 3, 18) }, sends: script(fillScript),
		left: "bfffc0 hour",
	},
	"clear range": {
		do: func(ctx context.Context, s *Set) (any, error) { return nil, s.ClearRange(ctx, 0, 6) }, sends: script(fillScript),
		left: "01 hour",
	},
	"set a number": {
		do: func(ctx context.Context, s *Set) (any, error) { return some(s.Int(8, 4).Set(ctx, -1)) }, sends: redistest.Command("BITFIELD"),
		answer: int64(0x50), left: "aff0 hour",
	},
	"add to a number": {
		do: func(ctx context.Context, s *Set) (any, error) { return some(s.Uint(4, 4).Add(ctx, 12)) }, sends: redistest.Command("BITFIELD"),
		answer: int64(1), left: "a1 hour",
	},
	"and": {
		do: func(ctx context.Context, s *Set) (any, error) { return nil, s.And(ctx, other(s)) }, sends: script(combineScript),
		left: "00 hour",
	},
	"or": {
		do: func(ctx context.Context, s *Set) (any, error) { return nil, s.Or(ctx, other(s), other(s)) }, sends: script(combineScript),
		left: "a5 hour",
	},
	"xor": {
		do: func(ctx context.Context, s *Set) (any, error) { return nil, s.Xor(ctx, s.Name(), s.Name()) }, sends: script(combineScript),
		left: "a5 hour",
	},
	"not": {
		do: func(ctx context.Context, s *Set) (any, error) { return nil, s.Not(ctx) }, sends: script(combineScript),
		left: "5a hour",
	},
	"delete": {
		do: func(ctx context.Context, s *Set) (any, error) { return some(s.Delete(ctx)) }, sends: redistest.Command("UNLINK"),
		answer: true, left: "none", moves: true,
	},
	"expire": {
		do: func(ctx context.Context, s *Set) (any, error) { return some(s.Expire(ctx, day)) }, sends: redistest.AnyScript(),
		answer: true, left: "a5 day", moves: true,
	},
	"expire at": {
		do: func(ctx context.Context, s *Set) (any, error) { return some(s.ExpireAt(ctx, time.Now().Add(day))) }, sends: redistest.AnyScript(),
		answer: true, left: "a5 day", moves: true,
	},
	"persist": {
		do: func(ctx context.Context, s *Set) (any, error) { return some(s.Persist(ctx)) }, sends: redistest.AnyScript(),
		answer: true, left: "a5 forever", moves: true,
	},
	"rename": {
		do: func(ctx context.Context, s *Set) (any, error) { return some(s.Rename(ctx, other(s))) }, sends: redistest.AnyScript(),
		answer: true, left: "none", moves: true,
	},
	"copy": {
		do: func(ctx context.Context, s *Set) (any, error) { return some(s.Copy(ctx, other(s))) }, sends: redistest.AnyScript(),
		answer: true, left: "a5 hour", moves: true,
	},
}

// reads is every operation that only reads, with what it answers of a bitset which is a5 for an hour.
var reads = map[string]struct {
	do     func(ctx context.Context, s *Set) (any, error)
	sends  redistest.Match
	answer any
	any    bool // it reads a key of any type
}{
	"get one": {
		do: func(ctx context.Context, s *Set) (any, error) { return some(s.Get(ctx, 2)) }, sends: redistest.Command("GETBIT"),
		answer: []bool{true},
	},
	"get": {
		do: func(ctx context.Context, s *Set) (any, error) { return some(s.Get(ctx, 2, 3, 900)) }, sends: redistest.Command("BITFIELD_RO"),
		answer: []bool{true, false, false},
	},
	"count":    {do: func(ctx context.Context, s *Set) (any, error) { return some(s.Count(ctx)) }, sends: script(countScript), answer: int64(4)},
	"len":      {do: func(ctx context.Context, s *Set) (any, error) { return some(s.Len(ctx)) }, sends: script(lengthScript), answer: int64(8)},
	"bytes":    {do: func(ctx context.Context, s *Set) (any, error) { return some(s.Bytes(ctx)) }, sends: redistest.Command("GETRANGE"), answer: []byte{0xa5}},
	"a number": {do: func(ctx context.Context, s *Set) (any, error) { return some(s.Int(4, 0).Get(ctx)) }, sends: redistest.Command("BITFIELD_RO"), answer: int64(-6)},
	"exists":   {do: func(ctx context.Context, s *Set) (any, error) { return some(s.Exists(ctx)) }, sends: redistest.Command("EXISTS"), answer: true, any: true},
	"remaining": {
		do: func(ctx context.Context, s *Set) (any, error) { return some(s.Remaining(ctx)) }, sends: redistest.Command("PTTL"), any: true,
	},
	"size in memory": {
		do: func(ctx context.Context, s *Set) (any, error) { return some(s.SizeInMemory(ctx)) }, sends: redistest.AnyScript(), any: true,
	},
}

// a5 makes the bitset of an effect.
func a5(t testing.TB, raw rueidis.Client, key string) {
	t.Helper()
	redistest.Do(t, raw, "SET", key, "\xa5", "PX", decimal(hour.Milliseconds()))
}

// state returns what a key has, and for how long: "none", or the bytes, and "forever", "hour" or "day".
func state(t testing.TB, raw rueidis.Client, key string) string {
	t.Helper()
	msg := redistest.Do(t, raw, "GET", key)
	if msg.IsNil() {
		return "none"
	}
	text, err := msg.ToString()
	require.NoError(t, err)
	return hex.EncodeToString([]byte(text)) + " " + ends(t, raw, key)
}

func ends(t testing.TB, raw rueidis.Client, key string) string {
	t.Helper()
	switch left := redistest.Left(t, raw, key); {
	case left < 0:
		return "forever"
	case left <= hour && left > hour/2:
		return "hour"
	case left <= day && left > day/2:
		return "day"
	default:
		return left.String()
	}
}

// fresh returns a name that is deleted when the test ends.
func fresh(t testing.TB, raw rueidis.Client) string { t.Helper(); return enginetest.Fresh(t, raw) }
