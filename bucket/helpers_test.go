package bucket

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// kit has a handle of each kind on one name, with texts for values.
type kit struct {
	name  string
	b     *Bucket[string]
	many  *Many[string]
	bytes *Bytes
}

func kitOn(e *locking.Engine, name string) kit {
	return kit{name, New[string](e, name, WithCodec(codec.Text)), NewMany[string](e, WithCodec(codec.Text)), NewBytes(e, name)}
}

// foreign is what an operation does to a key of another type.
type foreign int

const (
	refuses    foreign = iota // it returns an error, and changes nothing
	overwrites                // it writes over it
	leaves                    // it changes nothing, and returns no error
	moves                     // it does to any key what it does to a bucket
)

// effect is what an operation that writes does to a bucket which is "old" for an hour.
type effect struct {
	do      func(ctx context.Context, k kit) (any, error)
	sends   redistest.Match
	answer  any
	left    string // see state
	foreign foreign
}

func script(s *scripts.Script) redistest.Match { return redistest.MatchScript(s.Body()) }

const (
	hour = time.Hour
	day  = 24 * time.Hour
)

// took makes one answer of two.
func took(v string, there bool, err error) (any, error) {
	if !there {
		return nil, err
	}
	return v, err
}

// some makes an answer of any type of one.
func some[A any](a A, err error) (any, error) { return a, err }

var effects = map[string]effect{
	"set": {
		func(ctx context.Context, k kit) (any, error) { return nil, k.b.Set(ctx, "new") },
		redistest.Command("SET"), nil, "new forever", overwrites,
	},
	"set with a time": {
		func(ctx context.Context, k kit) (any, error) { return nil, k.b.Set(ctx, "new", WithTTL(day)) },
		redistest.Command("SET"), nil, "new day", overwrites,
	},
	"set that keeps the time": {
		func(ctx context.Context, k kit) (any, error) { return nil, k.b.Set(ctx, "new", WithKeepTTL()) },
		redistest.Command("SET"), nil, "new hour", overwrites,
	},
	"set if absent": {
		func(ctx context.Context, k kit) (any, error) { return some(k.b.SetIfAbsent(ctx, "new")) },
		redistest.Command("SET"), false, "old hour", leaves,
	},
	"set if it exists": {
		func(ctx context.Context, k kit) (any, error) { return some(k.b.SetIfExists(ctx, "new", WithTTL(day))) },
		redistest.Command("SET"), true, "new day", overwrites,
	},
	"swap": {
		func(ctx context.Context, k kit) (any, error) { return took(k.b.Swap(ctx, "new")) },
		redistest.Command("SET"), "old", "new forever", refuses,
	},
	"take": {
		func(ctx context.Context, k kit) (any, error) { return took(k.b.Take(ctx)) },
		redistest.Command("GETDEL"), "old", "none", refuses,
	},
	"get and expire": {
		func(ctx context.Context, k kit) (any, error) { return took(k.b.GetAndExpire(ctx, day)) },
		redistest.Command("GETEX"), "old", "old day", refuses,
	},
	"get and persist": {
		func(ctx context.Context, k kit) (any, error) { return took(k.b.GetAndPersist(ctx)) },
		redistest.Command("GETEX"), "old", "old forever", refuses,
	},
	"compare and swap": {
		func(ctx context.Context, k kit) (any, error) { return some(k.b.CompareAndSwap(ctx, "old", "new")) },
		script(swapScript), true, "new forever", refuses,
	},
	"compare and swap that keeps the time": {
		func(ctx context.Context, k kit) (any, error) {
			return some(k.b.CompareAndSwap(ctx, "old", "new", WithKeepTTL()))
		},
		script(swapScript), true, "new hour", refuses,
	},
	"compare and swap of another": {
		func(ctx context.Context, k kit) (any, error) { return some(k.b.CompareAndSwap(ctx, "other", "new")) },
		script(swapScript), false, "old hour", refuses,
	},
	"compare and delete": {
		func(ctx context.Context, k kit) (any, error) { return some(k.b.CompareAndDelete(ctx, "old")) },
		script(deleteScript), true, "none", refuses,
	},
	"update": {
		func(ctx context.Context, k kit) (any, error) { return took(k.b.Update(ctx, longer)) },
		script(changeScript), "old+", "old+ hour", refuses,
	},
	"update with a time": {
		func(ctx context.Context, k kit) (any, error) { return took(k.b.Update(ctx, longer, WithTTL(day))) },
		script(changeScript), "old+", "old+ day", refuses,
	},
	"update that deletes": {
		func(ctx context.Context, k kit) (any, error) {
			return took(k.b.Update(ctx, func(old string, _ bool) (string, Verdict, error) { return old, Delete, nil }))
		},
		script(changeScript), nil, "none", refuses,
	},
	"set many": {
		func(ctx context.Context, k kit) (any, error) {
			return nil, k.many.Set(ctx, map[string]string{k.name: "new"})
		},
		redistest.Command("MSET"), nil, "new forever", overwrites,
	},
	"set many with a time": {
		func(ctx context.Context, k kit) (any, error) {
			return nil, k.many.Set(ctx, map[string]string{k.name: "new"}, WithTTL(day))
		},
		script(setManyScript), nil, "new day", overwrites,
	},
	"set all if absent": {
		func(ctx context.Context, k kit) (any, error) {
			return some(k.many.SetAllIfAbsent(ctx, map[string]string{k.name: "new"}))
		},
		redistest.Command("MSETNX"), false, "old hour", leaves,
	},
	"set all if absent with a time": {
		func(ctx context.Context, k kit) (any, error) {
			return some(k.many.SetAllIfAbsent(ctx, map[string]string{k.name: "new"}, WithTTL(day)))
		},
		script(setManyScript), false, "old hour", leaves,
	},
	"append": {
		func(ctx context.Context, k kit) (any, error) { return some(k.bytes.Append(ctx, []byte("new"))) },
		redistest.Command("APPEND"), int64(6), "oldnew hour", refuses,
	},
	"write at": {
		func(ctx context.Context, k kit) (any, error) { return some(k.bytes.WriteAt(ctx, []byte("new"), 1)) },
		redistest.Command("SETRANGE"), 3, "onew hour", refuses,
	},
	"truncate": {
		func(ctx context.Context, k kit) (any, error) { return some(k.bytes.Truncate(ctx, 1)) },
		script(truncateScript), int64(1), "o hour", refuses,
	},
	"delete": {
		func(ctx context.Context, k kit) (any, error) { return some(k.b.Delete(ctx)) },
		redistest.Command("UNLINK"), true, "none", moves,
	},
	"expire": {
		func(ctx context.Context, k kit) (any, error) { return some(k.b.Expire(ctx, day)) },
		redistest.AnyScript(), true, "old day", moves,
	},
	"expire at": {
		func(ctx context.Context, k kit) (any, error) { return some(k.b.ExpireAt(ctx, time.Now().Add(day))) },
		redistest.AnyScript(), true, "old day", moves,
	},
	"persist": {
		func(ctx context.Context, k kit) (any, error) { return some(k.b.Persist(ctx)) },
		redistest.AnyScript(), true, "old forever", moves,
	},
	"rename": {
		func(ctx context.Context, k kit) (any, error) { return some(k.b.Rename(ctx, "to:{"+k.name+"}")) },
		redistest.AnyScript(), true, "none", moves,
	},
	"copy": {
		func(ctx context.Context, k kit) (any, error) { return some(k.b.Copy(ctx, "to:{"+k.name+"}")) },
		redistest.AnyScript(), true, "old hour", moves,
	},
}

// reads is every operation that only reads, with what it answers of a bucket which is "old" for an hour.
var reads = map[string]struct {
	do     func(ctx context.Context, k kit) (any, error)
	sends  redistest.Match
	answer any
}{
	"get": {func(ctx context.Context, k kit) (any, error) { return took(k.b.Get(ctx)) }, redistest.Command("GET"), "old"},
	"get many": {
		func(ctx context.Context, k kit) (any, error) { return some(k.many.Get(ctx, k.name)) },
		script(getManyScript), nil,
	},
	"size":      {func(ctx context.Context, k kit) (any, error) { return some(k.b.Size(ctx)) }, redistest.Command("STRLEN"), int64(3)},
	"exists":    {func(ctx context.Context, k kit) (any, error) { return some(k.b.Exists(ctx)) }, redistest.Command("EXISTS"), true},
	"remaining": {func(ctx context.Context, k kit) (any, error) { return some(k.b.Remaining(ctx)) }, redistest.Command("PTTL"), nil},
	"size in memory": {
		func(ctx context.Context, k kit) (any, error) { return some(k.b.SizeInMemory(ctx)) },
		redistest.AnyScript(), nil,
	},
	"read at": {
		func(ctx context.Context, k kit) (any, error) { return some(k.bytes.ReadAt(ctx, make([]byte, 2), 1)) },
		redistest.Command("GETRANGE"), 2,
	},
}

func longer(old string, _ bool) (string, Verdict, error) { return old + "+", Store, nil }

// old makes the bucket of an effect.
func old(t testing.TB, raw rueidis.Client, key string) {
	t.Helper()
	redistest.Do(t, raw, "SET", key, "old", "PX", decimal(hour.Milliseconds()))
}

// state returns what a key has, and for how long: "none", or the text, and "forever", "hour" or "day".
func state(t testing.TB, raw rueidis.Client, key string) string {
	t.Helper()
	msg := redistest.Do(t, raw, "GET", key)
	if msg.IsNil() {
		return "none"
	}
	text, err := msg.ToString()
	require.NoError(t, err)
	return text + " " + ends(t, raw, key)
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
