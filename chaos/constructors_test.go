package chaos

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tested has the objects of this package that use a constructor of the public API. Those of packages are made through the client where
// that has a method of the same object.
var tested = map[string][]string{
	"Client.Lock":                {"lock", "multi"},
	"Client.FairLock":            {"fair"},
	"Client.RWLock":              {"read-write"},
	"Client.FencedLock":          {"fenced"},
	"Client.FenceGuard":          {"fenced", "election", "write-behind"},
	"Client.MultiLock":           {"multi"},
	"Client.LockGroup":           {"group"},
	"Client.PermitSemaphore":     {"permits"},
	"Client.Semaphore":           {"semaphore", "sizes"},
	"Client.Latch":               {"latch"},
	"Client.Barrier":             {"barrier"},
	"Client.DoubleBarrier":       {"double-barrier"},
	"Client.RateLimiter":         {"limiter"},
	"Client.RedissonRateLimiter": {"redisson-limiter"},
	"redlock.New":                {"red"},
	"election.New":               {"election"},
	"rmap.New":                   {"map", "compute", "near", "entry-lock", "write-through"},
	"rmap.NewTTLMap":             {"ttl-map"},
	"rmap.NewCache":              {"cache", "read-through", "write-behind"},
	"rmap.NewSharded":            {"sharded-map"},
	"nearcache.New":              {"near", "near-announced"},
	"readthrough.New":            {"read-through"},
	"writethrough.New":           {"write-through", "write-behind"},
	"multimap.NewList":           {"list-multimap"},
	"multimap.NewSet":            {"set-multimap", "entry-lock"},
	"counter.New":                {"counter", "counted"},
	"counter.NewAdder":           {"adder"},
	"counter.NewDistinct":        {"distinct"},
	"counter.NewFloat":           {"float"},
	"counter.NewIDs":             {"ids"},
	"bitset.New":                 {"bitset"},
	"list.New":                   {"list"},
	"bucket.New":                 {"bucket", "update"},
	"bucket.NewMany":             {"bucket"},
	"bucket.NewBytes":            {"bytes"},
	"bloom.New":                  {"bloom"},
	"set.New":                    {"set"},
	"set.NewCache":               {"set-cache"},
	"sortedset.New":              {"score", "sorted-set"},
	"sortedset.NewLex":           {"texts"},
	"sortedset.NewGeo":           {"places"},
	"keyspace.New":               {"keys"},
	"timeseries.New":             {"time-series"},
	"queue.New":                  {"queue", "take"},
	"queue.NewBounded":           {"bounded"},
	"queue.NewDelayed":           {"delayed"},
	"queue.NewPriority":          {"priority"},
	"queue.NewRing":              {"ring"},
	"reliable.New":               {"reliable", "jobs", "transfer"},
	"stream.New":                 {"stream"},
	"topic.New":                  {"topic"},
	"topic.NewPattern":           {"topic"},
	"topic.NewSharded":           {"topic"},
	"topic.NewReliable":          {"reliable-topic", "durable-topic"},
}

// untested are constructors without an object here.
var untested = map[string]string{
	"Client.Election":          "election.New returns the same",
	"bucket.NewJSON":           "needs a module that the servers of the rounds do not load; package bucket has its own faults",
	"fairlock.New":             "Client.FairLock returns the same",
	"latch.New":                "Client.Latch returns the same",
	"latch.NewBarrier":         "Client.Barrier returns the same",
	"latch.NewDoubleBarrier":   "Client.DoubleBarrier returns the same",
	"lock.New":                 "Client.Lock returns the same",
	"lock.NewFenced":           "Client.FencedLock returns the same",
	"lock.NewGuard":            "Client.FenceGuard returns the same",
	"lock.NewHold":             "is for this module: a lock of another package makes holds with it",
	"multilock.NewGroup":       "Client.LockGroup returns the same",
	"ratelimiter.New":          "Client.RateLimiter returns the same",
	"redissonlimiter.New":      "Client.RedissonRateLimiter returns the same",
	"rwlock.New":               "Client.RWLock returns the same",
	"semaphore.New":            "Client.Semaphore returns the same",
	"semaphore.NewPermits":     "Client.PermitSemaphore returns the same",
	"Client.Engine":            "is for this module: objects of packages are built on it",
	"fence.New":                "a token is a value, without I/O",
	"fence.NewContext":         "a context is a value, without I/O",
	"fencehttp.NewGate":        "compares tokens of requests, and keeps them in a store of the program",
	"httplimit.New":            "asks a limiter, which is tested",
	"grpclimit.New":            "asks a limiter, which is tested",
	"otel.New":                 "observes, and changes nothing",
	"rueidisson.New":           "a client is no object; each process has two",
	"rueidissontest.NewClient": "is for tests of programs",
	"rueidissontest.NewServer": "is for tests of programs",
}

var (
	constructor = regexp.MustCompile(`(?m)^func (New\w*)[\[(]`)
	ofClient    = regexp.MustCompile(`(?m)^func \(c \*Client\) (\w+)\([^)]*\) \*\w+\.\w+$`)
)

// constructors returns those of the public API: New and NewX of each package, and the methods of the client that return an object.
func constructors(t *testing.T) (all []string) {
	t.Helper()
	files, err := filepath.Glob("../api/*.txt")
	require.NoError(t, err)
	require.Greater(t, len(files), 20)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		pkg, _, _ := strings.Cut(strings.TrimPrefix(string(text), "package "), "\n")
		for _, found := range constructor.FindAllStringSubmatch(string(text), -1) {
			all = append(all, pkg+"."+found[1])
		}
		if pkg == "rueidisson" {
			for _, found := range ofClient.FindAllStringSubmatch(string(text), -1) {
				all = append(all, "Client."+found[1])
			}
		}
	}
	return all
}

// TestEachConstructorHasAnObject: what the library can make is used under faults, or a reason says why it is not.
func TestEachConstructorHasAnObject(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, file := range files {
		if file != "constructors_test.go" {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			source.Write(text)
		}
	}
	all := constructors(t)
	require.Contains(t, all, "queue.NewDelayed")
	require.Contains(t, all, "Client.Barrier")
	for _, one := range all {
		require.True(t, len(tested[one]) > 0 || untested[one] != "", "%s has no object, and no reason", one)
		require.False(t, len(tested[one]) > 0 && untested[one] != "", "%s has an object, and a reason to have none", one)
	}
	for one, names := range tested {
		require.Contains(t, all, one, "it is no constructor any more")
		call := regexp.MustCompile(regexp.QuoteMeta(strings.Replace(one, "Client.", ".", 1)) + `[\[(]`)
		require.True(t, call.MatchString(source.String()), "%s is not called", one)
		for _, name := range names {
			require.GreaterOrEqual(t, indexOf(name), 0, "%s: there is no object %s", one, name)
		}
	}
	for one := range untested {
		require.Contains(t, all, one, "it is no constructor any more")
	}
	named := slices.Concat(slices.Collect(maps.Values(tested))...)
	for name := range objectNames {
		require.Contains(t, named, name, "the object is of no constructor")
	}
}
