package otel

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bitset"
	"github.com/rueidisson/rueidisson/bloom"
	"github.com/rueidisson/rueidisson/bucket"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/counter"
	"github.com/rueidisson/rueidisson/election"
	"github.com/rueidisson/rueidisson/keyspace"
	"github.com/rueidisson/rueidisson/latch"
	"github.com/rueidisson/rueidisson/list"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multilock"
	"github.com/rueidisson/rueidisson/multimap"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/queue/reliable"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/redlock"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/nearcache"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
	"github.com/rueidisson/rueidisson/rmap/writethrough"
	"github.com/rueidisson/rueidisson/rwlock"
	"github.com/rueidisson/rueidisson/semaphore"
	"github.com/rueidisson/rueidisson/set"
	"github.com/rueidisson/rueidisson/sortedset"
	"github.com/rueidisson/rueidisson/stream"
	"github.com/rueidisson/rueidisson/timeseries"
	"github.com/rueidisson/rueidisson/topic"
)

// named is every error that a program can branch on, by the value that the
// attribute has for it.
var named = map[string]map[string]error{
	"": {
		"closed": rueidisson.ErrClosed, "invalid_argument": rueidisson.ErrInvalidArgument, "outcome_unknown": rueidisson.ErrOutcomeUnknown,
		"slot_moving": rueidisson.ErrSlotMoving, "deferred": rueidisson.ErrDeferred, "wrong_kind": rueidisson.ErrWrongKind,
		"notice": rueidisson.ErrNotice, "unreached": rueidisson.ErrUnreached,
		"not_permitted": rueidisson.ErrNotPermitted, "settings": rueidisson.ErrSettings,
		"disconnected": rueidisson.ErrDisconnected, "reconnected": rueidisson.ErrReconnected,
	},
	"bitset": {
		"invalid_argument": bitset.ErrInvalidArgument, "outcome_unknown": bitset.ErrOutcomeUnknown, "slot_moving": bitset.ErrSlotMoving, "closed": bitset.ErrClosed,
	},
	"bloom": {
		"invalid_argument": bloom.ErrInvalidArgument, "outcome_unknown": bloom.ErrOutcomeUnknown, "not_set": bloom.ErrNotSet,
		"other_shape": bloom.ErrOtherShape, "decode": bloom.ErrDecode, "closed": bloom.ErrClosed,
	},
	"bucket": {
		"invalid_argument": bucket.ErrInvalidArgument, "outcome_unknown": bucket.ErrOutcomeUnknown, "slot_moving": bucket.ErrSlotMoving,
		"decode": bucket.ErrDecode, "closed": bucket.ErrClosed,
	},
	"counter": {
		"invalid_argument": counter.ErrInvalidArgument, "outcome_unknown": counter.ErrOutcomeUnknown, "decode": counter.ErrDecode,
		"exhausted": counter.ErrExhausted, "not_replicated": counter.ErrNotReplicated, "closed": counter.ErrClosed,
	},
	"keyspace": {
		"invalid_argument": keyspace.ErrInvalidArgument, "outcome_unknown": keyspace.ErrOutcomeUnknown, "slot_moving": keyspace.ErrSlotMoving,
		"closed": keyspace.ErrClosed,
	},
	"list": {
		"invalid_argument": list.ErrInvalidArgument, "outcome_unknown": list.ErrOutcomeUnknown, "decode": list.ErrDecode, "closed": list.ErrClosed,
	},
	"set": {
		"invalid_argument": set.ErrInvalidArgument, "outcome_unknown": set.ErrOutcomeUnknown, "slot_moving": set.ErrSlotMoving, "decode": set.ErrDecode,
		"disconnected": set.ErrDisconnected, "reconnected": set.ErrReconnected, "missed": set.ErrMissed, "closed": set.ErrClosed,
	},
	"sortedset": {
		"invalid_argument": sortedset.ErrInvalidArgument, "outcome_unknown": sortedset.ErrOutcomeUnknown, "slot_moving": sortedset.ErrSlotMoving,
		"not_found": sortedset.ErrNotFound, "decode": sortedset.ErrDecode, "closed": sortedset.ErrClosed,
	},
	"timeseries": {
		"invalid_argument": timeseries.ErrInvalidArgument, "outcome_unknown": timeseries.ErrOutcomeUnknown, "slot_moving": timeseries.ErrSlotMoving,
		"decode": timeseries.ErrDecode, "closed": timeseries.ErrClosed,
	},
	"codec":    {"invalid_argument": codec.ErrInvalidArgument, "decode": codec.ErrDecode},
	"election": {"disconnected": election.ErrDisconnected, "reconnected": election.ErrReconnected},
	"latch":    {"broken": latch.ErrBroken, "lost": latch.ErrLost, "invalid_argument": latch.ErrInvalidArgument, "outcome_unknown": latch.ErrOutcomeUnknown, "closed": latch.ErrClosed, "deferred": latch.ErrDeferred},
	"lock": {
		"not_acquired": lock.ErrNotAcquired, "lost": lock.ErrLost, "released": lock.ErrReleased, "invalid_argument": lock.ErrInvalidArgument,
		"token": lock.ErrToken, "outcome_unknown": lock.ErrOutcomeUnknown, "not_replicated": lock.ErrNotReplicated, "wrong_kind": lock.ErrWrongKind,
		"stale": lock.ErrStale, "closed": lock.ErrClosed, "deferred": lock.ErrDeferred,
	},
	"multilock": {
		"not_acquired": multilock.ErrNotAcquired, "lost": multilock.ErrLost, "released": multilock.ErrReleased,
		"invalid_argument": multilock.ErrInvalidArgument, "outcome_unknown": multilock.ErrOutcomeUnknown, "closed": multilock.ErrClosed,
	},
	"multimap": {
		"invalid_argument": multimap.ErrInvalidArgument, "outcome_unknown": multimap.ErrOutcomeUnknown, "slot_moving": multimap.ErrSlotMoving,
		"decode": multimap.ErrDecode, "wrong_kind": multimap.ErrWrongKind, "closed": multimap.ErrClosed,
	},
	"queue": {
		"empty": queue.ErrEmpty, "full": queue.ErrFull, "no_capacity": queue.ErrNoCapacity, "invalid_argument": queue.ErrInvalidArgument,
		"outcome_unknown": queue.ErrOutcomeUnknown, "decode": queue.ErrDecode, "closed": queue.ErrClosed,
	},
	"queue/reliable": {
		"empty": reliable.ErrEmpty, "full": reliable.ErrFull, "duplicate": reliable.ErrDuplicate, "attempt_timeout": reliable.ErrTimeout,
		"settled": reliable.ErrSettled, "not_found": reliable.ErrNotFound, "taken": reliable.ErrTaken, "pending": reliable.ErrPending,
		"buried": reliable.ErrBuried, "removed": reliable.ErrRemoved, "expired": reliable.ErrExpired, "other_terms": reliable.ErrOtherTerms, "detached": reliable.ErrDetached, "cancelled": reliable.ErrCancelled, "lost": reliable.ErrLost, "invalid_argument": reliable.ErrInvalidArgument, "outcome_unknown": reliable.ErrOutcomeUnknown,
		"decode": reliable.ErrDecode, "closed": reliable.ErrClosed,
	},
	"ratelimiter": {
		"no_rate": ratelimiter.ErrNoRate, "other_rate": ratelimiter.ErrOtherRate, "other_algorithm": ratelimiter.ErrOtherAlgorithm,
		"exceeds_burst": ratelimiter.ErrExceedsBurst, "timeout": ratelimiter.ErrExceedsDeadline, "exceeds_wait": ratelimiter.ErrExceedsWait,
		"exceeds_debt": ratelimiter.ErrExceedsDebt, "invalid_argument": ratelimiter.ErrInvalidArgument, "outcome_unknown": ratelimiter.ErrOutcomeUnknown,
		"closed": ratelimiter.ErrClosed, "invalid_argument ": ratelimiter.ErrCrossSlot,
	},
	"redlock": {
		"not_acquired": redlock.ErrNotAcquired, "lost": redlock.ErrLost, "released": redlock.ErrReleased,
		"invalid_argument": redlock.ErrInvalidArgument, "outcome_unknown": redlock.ErrOutcomeUnknown, "closed": redlock.ErrClosed,
	},
	"rmap": {
		"invalid_argument": rmap.ErrInvalidArgument, "outcome_unknown": rmap.ErrOutcomeUnknown, "decode": rmap.ErrDecode, "closed": rmap.ErrClosed,
		"slot_moving": rmap.ErrSlotMoving, "wrong_kind": rmap.ErrWrongKind, "disconnected": rmap.ErrDisconnected, "reconnected": rmap.ErrReconnected,
	},
	"rmap/nearcache": {
		"invalid_argument": nearcache.ErrInvalidArgument, "outcome_unknown": nearcache.ErrOutcomeUnknown, "closed": nearcache.ErrClosed,
	},
	"rmap/readthrough": {
		"invalid_argument": readthrough.ErrInvalidArgument, "outcome_unknown": readthrough.ErrOutcomeUnknown, "decode": readthrough.ErrDecode,
		"closed": readthrough.ErrClosed,
	},
	"rmap/writethrough": {
		"invalid_argument": writethrough.ErrInvalidArgument, "outcome_unknown": writethrough.ErrOutcomeUnknown, "decode": writethrough.ErrDecode,
		"wrong_kind": writethrough.ErrWrongKind, "closed": writethrough.ErrClosed, "backlog": writethrough.ErrBacklog,
	},
	"topic": {
		"invalid_argument": topic.ErrInvalidArgument, "outcome_unknown": topic.ErrOutcomeUnknown, "decode": topic.ErrDecode, "closed": topic.ErrClosed,
		"interrupted": topic.ErrInterrupted, "disconnected": topic.ErrDisconnected, "reconnected": topic.ErrReconnected, "full": topic.ErrFull, "lost": topic.ErrLost,
	},
	"rwlock": {"upgrade": rwlock.ErrUpgrade},
	"stream": {
		"no_group": stream.ErrNoGroup, "pending": stream.ErrPending, "lost": stream.ErrLost, "invalid_argument": stream.ErrInvalidArgument,
		"outcome_unknown": stream.ErrOutcomeUnknown, "decode": stream.ErrDecode, "closed": stream.ErrClosed,
	},
	"semaphore": {
		"not_acquired": semaphore.ErrNotAcquired, "not_set": semaphore.ErrNotSet, "invalid_argument": semaphore.ErrInvalidArgument,
		"outcome_unknown": semaphore.ErrOutcomeUnknown, "not_replicated": semaphore.ErrNotReplicated, "lost": semaphore.ErrLost,
		"released": semaphore.ErrReleased, "closed": semaphore.ErrClosed, "deferred": semaphore.ErrDeferred,
	},
}

// apart is what has no client, whose errors so come to no observer.
var apart = []string{"fence", "ratelimiter/httplimit", "ratelimiter/grpclimit"}

func TestEveryErrorHasAType(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/metrics.md")
	require.NoError(t, err)
	for pkg, errs := range named {
		for want, err := range errs {
			want = strings.TrimSpace(want)
			assert.Equal(t, want, typeOf(err), pkg)
			assert.Contains(t, string(page), "\n"+want+" ", "docs/metrics.md does not name it")
		}
	}
	for pkg, vars := range sentinels(t) {
		assert.Len(t, named[pkg], len(vars), "%q has %v: name them in errors.go, and here", pkg, vars)
	}
}

// sentinels are the errors that the packages of the module export.
func sentinels(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		rel := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && foreign(rel):
			return filepath.SkipDir
		case filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go"):
			return add(found, path, strings.TrimPrefix(filepath.ToSlash(filepath.Dir(rel)), "."))
		}
		return nil
	}))
	return found
}

// foreign is for folders in which nothing is that programs import, or that have no
// client.
func foreign(dir string) bool {
	base := filepath.Base(dir)
	return slices.Contains(apart, dir) || strings.HasPrefix(base, ".") ||
		slices.Contains([]string{"internal", "testdata", "bench", "cmd", "examples", "interop"}, base)
}

func add(found map[string][]string, path, pkg string) error {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range f.Decls {
		of, is := decl.(*ast.GenDecl)
		if !is || of.Tok != token.VAR {
			continue
		}
		for _, spec := range of.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				if strings.HasPrefix(name.Name, "Err") {
					found[pkg] = append(found[pkg], name.Name)
				}
			}
		}
	}
	return nil
}
